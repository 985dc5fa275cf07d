#!/bin/sh
# The wheel, alone in its layer.
set -eu
# shellcheck source=messages.sh
. "$(dirname "$0")/messages.sh"

pip() {
  /opt/tools/bin/python3 -m pip --python /opt/venv/bin/python3 \
    --disable-pip-version-check --no-input "$@"
}
pip install --no-cache-dir --no-compile --no-deps --no-index /mnt/wheel/*.whl ||
  refuse "the wheel cannot be installed (see above)"
pip check || refuse "the packages do not fit together (see above); is the lock this wheel's?"
forget
