#!/bin/sh
# The wheel, alone in its layer.
set -eu
# shellcheck source=messages.sh
. "$(dirname "$0")/messages.sh"

make_pip
pip install --no-cache-dir --no-compile --no-deps --no-index /mnt/wheel/*.whl ||
  refuse "the wheel cannot be installed (see above)"
pip check || refuse "the packages do not fit together (see above); is the lock this wheel's?"
/opt/venv/bin/python3 -I /opt/dsv4/doctor --version >/dev/null ||
  refuse "the doctor does not run in this image (see above)"
forget
