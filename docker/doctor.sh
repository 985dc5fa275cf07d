#!/bin/sh
# The doctor and the entry point.
set -eu
# shellcheck source=messages.sh
. "$(dirname "$0")/messages.sh"

mkdir -p /opt/dsv4
cp -R /mnt/doctor/. /opt/dsv4/
byte_code /opt/venv/bin/python3 /opt/dsv4
forget
