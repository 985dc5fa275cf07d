#!/bin/sh
# The wheel from its sources, by the doctor: plan, preflight, toolchain, compile, proof.
set -eu
# shellcheck source=messages.sh
. "$(dirname "$0")/messages.sh"

make_pip
python=/tmp/tools/bin/python3
# Newer than what the base's own Python brings along.
"$python" -m pip install -q --no-cache-dir --upgrade build cmake ninja setuptools wheel
for requirements in requirements/build/cuda.txt requirements/build.txt requirements-build.txt; do
  if [ -e "/source/$requirements" ]; then
    "$python" -m pip install -q --no-cache-dir -r "/source/$requirements"
    break
  fi
done
[ -n "${ARCHS:-}" ] || refuse "for which architectures? --build-arg ARCHS=sm_90,sm_100"
set -- build --arch "$ARCHS" --python "$python" --out /wheels
if [ -e /source/recipe ]; then
  set -- "$@" --recipe "$(cat /source/recipe)"
else
  set -- "$@" --vllm /source
fi
PATH=/tmp/tools/bin:$PATH exec "$python" /opt/dsv4/doctor "$@"
