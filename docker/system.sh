#!/bin/sh
# Makes the base what vLLM needs: says what it lacks, installs what Debian and Ubuntu have of it,
# and takes out what must not be there.
set -eu
# shellcheck source=messages.sh
. "$(dirname "$0")/messages.sh"

glibc=$(ldd --version 2>&1 | sed -n '1s/.* \([0-9][0-9]*\.[0-9][0-9]*\)$/\1/p') || true
[ -n "$glibc" ] || refuse "the base has no glibc (is it Alpine?), which every CUDA library needs"
if [ -n "${GLIBC_MIN:-}" ] && older "$glibc" "$GLIBC_MIN"; then
  refuse "the base has glibc $glibc, the wheel needs $GLIBC_MIN or newer; choose a newer --base"
fi

if [ -n "${MACHINE:-}" ] && [ "$(uname -m)" != "$MACHINE" ]; then
  refuse "the base is for $(uname -m), the wheel for $MACHINE; choose another --base"
fi

lacking=""
python3 -c 'import ensurepip, venv' 2>/dev/null || lacking="$lacking python3 python3-venv"
if [ "${JIT:-base}" != none ]; then
  # Triton compiles with cc against Python.h; nvcc needs a C++ compiler.
  command -v c++ >/dev/null || lacking="$lacking g++"
  command -v cc >/dev/null || lacking="$lacking gcc"
  header=$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))' 2>/dev/null) || true
  [ -e "${header:-/none}/Python.h" ] || lacking="$lacking python3-dev"
  [ -e /sbin/ldconfig ] && /sbin/ldconfig -p | grep -q 'libnuma\.so\.1' || lacking="$lacking libnuma1"
fi
if [ -n "$lacking" ]; then
  command -v apt-get >/dev/null ||
    refuse "the base lacks$lacking, and has no apt-get to install them; choose another --base"
  # shellcheck disable=SC2086
  install_packages $lacking
  case $lacking in
    *python3*)
      find /usr/lib/python3* -name __pycache__ -prune -exec rm -rf {} +
      byte_code python3 /usr/lib/python3*
      ;;
  esac
fi

python=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
if [ -n "${PYTHON_MIN:-}" ] && older "$python" "$PYTHON_MIN"; then
  refuse "the base has Python $python, the wheel needs $PYTHON_MIN or newer; choose a newer --base"
fi
if [ -n "${PYTHON_IS:-}" ] && [ "$python" != "$PYTHON_IS" ]; then
  refuse "the base has Python $python, the wheel takes $PYTHON_IS alone; choose another --base"
fi

# A libcuda.so in the image can shadow the newer one of the host's driver: error 803.
if command -v dpkg-query >/dev/null; then
  for package in $(dpkg-query -f '${Package}\n' -W 'cuda-compat-*' 2>/dev/null); do
    dpkg --purge --force-depends "$package" >/dev/null
  done
fi
shadow=$(find / -xdev \( -path /mnt -o -path /proc -o -path /sys \) -prune -o \
  -name 'libcuda.so*' ! -path '*/stubs/*' -print | head -n 1)
[ -z "$shadow" ] || refuse "the base has $shadow, which would shadow the driver's; remove it there"

if [ "${JIT:-base}" = base ] && [ ! -x /usr/local/cuda/bin/nvcc ]; then
  refuse "the base has no /usr/local/cuda/bin/nvcc: DeepGEMM and FlashInfer compile at run time;" \
    "--jit pypi adds one, --jit none does without"
fi

# An arbitrary user of group 0, as OpenShift has it, can use the image, too.
grep -q '^vllm:' /etc/passwd || echo 'vllm:x:2000:0:vllm:/home/vllm:/bin/sh' >>/etc/passwd
mkdir -p /home/vllm /cache
chown 2000:0 /home/vllm /cache
chmod 2775 /home/vllm /cache
forget
