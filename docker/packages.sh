#!/bin/sh
# What the wheel needs, in a layer of its own; the wheel itself is not left in it.
set -eu
# shellcheck source=messages.sh
. "$(dirname "$0")/messages.sh"

make_pip
python3 -m venv --without-pip /opt/venv
set -- --no-compile --no-cache-dir
# The user's own index and proxy, without leaving them in the image.
# shellcheck source=/dev/null
[ ! -s /mnt/packages/pip.env ] || . /mnt/packages/pip.env
if [ -d /mnt/packages/wheels ]; then
  set -- "$@" --no-index --find-links /mnt/packages/wheels
fi
if [ -s /mnt/packages/requirements.txt ]; then
  pip install "$@" --no-deps --require-hashes -r /mnt/packages/requirements.txt ||
    refuse "the packages of the lock cannot be installed (see above)"
elif [ -e /mnt/packages/resolve ]; then
  name=$(cat /mnt/packages/resolve)
  pip install "$@" /mnt/wheel/*.whl || refuse "what the wheel needs cannot be installed (see above)"
  pip uninstall -y -q "$name"
fi
byte_code /opt/venv/bin/python3 /opt/venv/lib
forget
