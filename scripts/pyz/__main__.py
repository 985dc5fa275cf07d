"""What runs first in dsv4-doctor.pyz: finds a Python that fits, unpacks once, and hands over.

Written so that any Python 3 can read it, because its first task is to get away from an old one:
no f-strings, no pathlib, annotations as text. Variables:

DSV4_DOCTOR_CACHE
    Directory to unpack into, instead of ``$XDG_CACHE_HOME/dsv4-doctor`` (``~/.cache``); ``off``
    runs out of the file itself, which takes longer to start.
"""

import os
import subprocess
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

FLOOR = (3, 10)
NEWEST = 20
# Distributions whose own python3 can be too old, and what brings a newer one beside it.
PACKAGES = (
    (("rhel", "centos", "rocky", "almalinux", "ol"), "dnf install python3.12 (or python3.11)"),
    (("sles", "opensuse", "opensuse-leap", "suse"), "zypper install python311"),
    (("ubuntu",), "apt-get install python3 on Ubuntu 22.04 or newer"),
    (("debian",), "apt-get install python3 on Debian 12 or newer"),
    (("amzn",), "dnf install python3.11"),
)
OS_RELEASE = "/etc/os-release"
_TRIED = "DSV4_DOCTOR_TRIED"
EXIT_BROKEN = 4


def candidates() -> "list[str]":
    """Return paths of interpreters that may fit, those on PATH first, newest first."""
    places = [*os.environ.get("PATH", "").split(os.pathsep), "/usr/bin", "/usr/local/bin"]
    names = ["python3.%d" % minor for minor in range(NEWEST, FLOOR[1] - 1, -1)]
    found = []
    for name in [*names, "python3"]:
        for place in places:
            path = os.path.join(place, name)
            if place and os.access(path, os.X_OK) and path not in found:
                found.append(path)
    return found


def fits(path: str) -> bool:
    """Whether this interpreter starts and is new enough."""
    test = "import sys; sys.exit(sys.version_info < (%d, %d))" % FLOOR
    try:
        with open(os.devnull, "r+") as null:
            child = subprocess.Popen(
                [path, "-I", "-c", test], stdin=null, stdout=null, stderr=null, close_fds=True
            )
            return _ended(child) == 0
    except OSError:
        return False


def _ended(child: "subprocess.Popen[bytes]") -> "int | None":
    end = time.time() + 10
    while child.poll() is None:
        if time.time() > end:
            child.kill()
            return None
        time.sleep(0.01)
    return child.returncode


def distribution() -> "list[str]":
    """Return the identifiers in os-release, the distribution's own first."""
    values = {}
    try:
        with open(OS_RELEASE) as file:
            for line in file:
                name, _, value = line.strip().partition("=")
                values[name] = value.strip("\"'").lower().split()
    except (OSError, ValueError):
        pass
    return values.get("ID", []) + values.get("ID_LIKE", [])


def advice() -> str:
    """Return the package that brings a fitting Python here."""
    for identifier in distribution():
        for names, command in PACKAGES:
            if identifier in names:
                return command
    return "install Python 3.10 or newer from the distribution"


def hand_over(archive: str) -> "NoReturn":
    """Run the same file with a newer interpreter, or say what is missing."""
    tried = os.environ.get(_TRIED, "").split(os.pathsep)
    for path in candidates():
        own = os.path.realpath(path) == os.path.realpath(sys.executable)
        if path not in tried and not own and fits(path):
            os.environ[_TRIED] = os.pathsep.join([*tried, path])
            os.execv(path, [path, archive, *sys.argv[1:]])
    sys.stderr.write(
        "error: dsv4-doctor needs Python >= %d.%d, and %s is %d.%d\n  %s\n"
        % (*FLOOR, sys.executable or "python3", *sys.version_info[:2], advice())
    )
    sys.exit(EXIT_BROKEN)


def main() -> None:
    """Find an interpreter and run the doctor."""
    archive = os.path.abspath(sys.path[0])
    if sys.version_info < FLOOR:
        hand_over(archive)
    os.environ.pop(_TRIED, None)
    from dsv4_doctor_pyz import enter

    enter(archive)


if __name__ == "__main__":
    main()
