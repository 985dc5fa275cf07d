#!/bin/sh
# The doctor and the entry point.
set -eu
# shellcheck source=messages.sh
. "$(dirname "$0")/messages.sh"

mkdir -p /opt/dsv4
cp -R /mnt/doctor/. /opt/dsv4/
# Nothing is built where it serves.
rm -rf /opt/dsv4/doctor/dsv4_build
byte_code /opt/venv/bin/python3 /opt/dsv4
forget
