# Sourced by the other scripts: finds a Python and makes the virtual environment.
# shellcheck shell=bash

# shellcheck disable=SC2034
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=${DSV4_VENV:-$root/.venv}

say() { printf '\n==> %s\n' "$*" >&2; }

fits() {
  "$1" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null
}

find_python() {
  local candidate
  for candidate in ${DSV4_PYTHON:-python3 python3.13 python3.12 python3.11 python3.10}; do
    if command -v "$candidate" >/dev/null && fits "$candidate"; then
      command -v "$candidate"
      return
    fi
  done
  echo "error: no Python >= 3.10 found; name one with DSV4_PYTHON=/path/to/python3" >&2
  return 1
}

# Debian packages the modules for virtual environments and Python.h apart from python3.
lacking_packages() {
  local python=$1 header
  "$python" -c 'import ensurepip, venv' 2>/dev/null || echo python3-venv
  header=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h
  [ -e "$header" ] || echo python3-dev
  command -v git >/dev/null || echo git
  command -v c++ >/dev/null || echo g++
}

install_packages() {
  [ $# -gt 0 ] || return 0
  local become=()
  [ "$(id -u)" = 0 ] || become=(sudo)
  if ! command -v apt-get >/dev/null; then
    echo "error: this machine lacks: $*; install what carries these names here" >&2
    return 1
  fi
  say "Installing Debian packages: $*"
  "${become[@]}" apt-get update -qq
  "${become[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# make_environment PIP-ARGUMENT…: the virtual environment with these requirements.
make_environment() {
  local python packages
  python=$(find_python)
  mapfile -t packages < <(lacking_packages "$python")
  install_packages "${packages[@]}"
  say "Python environment $venv ($("$python" --version))"
  [ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
  # `pip install --group` came with pip 25.1.
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
}
