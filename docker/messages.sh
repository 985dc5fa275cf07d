# Sourced by the other scripts: how they refuse, and what is left behind by nobody.
# shellcheck shell=sh

export DEBIAN_FRONTEND=noninteractive PYTHONDONTWRITEBYTECODE=1

# The doctor shows what follows this mark as its own message.
refuse() {
  echo "dsv4-image: $*" >&2
  exit 1
}

# older A B: whether version A is older than B.
older() {
  [ "$1" != "$2" ] && [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]
}

# make_pip: pip in a directory that `forget` removes; nothing needs it at run time.
make_pip() {
  python3 -m venv /tmp/tools || refuse "the base's Python cannot make an environment with pip"
}

pip() {
  /tmp/tools/bin/python3 -m pip --python /opt/venv/bin/python3 --disable-pip-version-check \
    --no-input "$@"
}

install_packages() {
  if [ -n "${APT_SNAPSHOT:-}" ]; then
    snapshot_sources >/tmp/snapshot.list
    set -- -o Dir::Etc::SourceList=/tmp/snapshot.list -o Dir::Etc::SourceParts=/dev/null \
      -o Acquire::Check-Valid-Until=false "$@"
  fi
  apt-get update -q || refuse "the package lists of the base cannot be fetched (see above)"
  apt-get install -y -q --no-install-recommends "$@" ||
    refuse "the base's own packages cannot be installed (see above)"
}

# The archive as it was at one moment, so that the same packages come next year.
snapshot_sources() {
  # shellcheck source=/dev/null
  . /etc/os-release
  case $ID in
    debian)
      base=http://snapshot.debian.org/archive
      echo "deb $base/debian/$APT_SNAPSHOT $VERSION_CODENAME main"
      echo "deb $base/debian/$APT_SNAPSHOT $VERSION_CODENAME-updates main"
      echo "deb $base/debian-security/$APT_SNAPSHOT $VERSION_CODENAME-security main"
      ;;
    ubuntu)
      for pocket in "" -updates -security; do
        echo "deb http://snapshot.ubuntu.com/ubuntu/$APT_SNAPSHOT $VERSION_CODENAME$pocket main universe"
      done
      ;;
    *) refuse "no snapshots of $ID are known; leave --apt-snapshot out" ;;
  esac
}

# byte_code PYTHON ARGUMENT…: compiled for good, since nobody may write there later. By the hash of
# the source: its time is another in the image.
byte_code() {
  python=$1
  shift
  # Some packages carry files that are no Python of this version.
  PYTHONHASHSEED=0 "$python" -m compileall -q -j 0 --invalidation-mode checked-hash "$@" \
    >/dev/null || true
}

# What says when and where something was installed, and what can be made again.
forget() {
  rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/cache/apt/archives/*.deb \
    /var/cache/debconf/*-old /var/lib/dpkg/*-old /var/cache/ldconfig/aux-cache \
    /var/log/apt /var/log/*.log /tmp/* /root/.cache
}
