#!/bin/sh
# The wheel, alone in its layer.
set -eu
# shellcheck source=messages.sh
. "$(dirname "$0")/messages.sh"

make_pip
pip install --no-cache-dir --no-compile --no-deps --no-index /mnt/wheel/*.whl ||
  refuse "the wheel cannot be installed (see above)"
pip check || refuse "the packages do not fit together (see above); is the lock this wheel's?"
doctor() {
  VIRTUAL_ENV=/opt/venv CUDA_HOME=/usr/local/cuda PATH=/opt/venv/bin:/usr/local/cuda/bin:$PATH \
    /opt/venv/bin/python3 -I /opt/dsv4/doctor "$@"
}
doctor --version >/dev/null || refuse "the doctor does not run in this image (see above)"
if [ "${JIT:-base}" != none ]; then
  # What can be told without a GPU; 3 is that something could not.
  set --
  for arch in ${WHEEL_ARCHS:-}; do set -- "$@" --arch "$arch"; done
  status=0
  doctor check --for serve --select 'jit.*,triton.jit.compiler' "$@" || status=$?
  case $status in
    0 | 3) ;;
    *) refuse "kernels could not be compiled in this image (see above); another --base or --jit" ;;
  esac
fi
# What is compiled already lies in another layer.
find /opt/venv/lib -name '*.py' -cnewer /tmp/tools/pyvenv.cfg -print >/tmp/new
byte_code /opt/venv/bin/python3 -i /tmp/new
forget
