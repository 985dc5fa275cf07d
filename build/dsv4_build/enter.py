"""Runs a program where directories have other names: in a mount namespace of its own.

Started as a script of its own, without the package, by :mod:`dsv4_build.canonical`:

    python -I -S enter.py SPECIFICATION PROGRAM [ARGUMENT ...]

SPECIFICATION is JSON: ``root``, an existing directory that gets a file system of its own, and
``mounts``, pairs of an existing directory and its name below ``root``. Nothing outside of the
namespace changes. Without root's rights, or where those are not enough, a user namespace gives
them; the program keeps its user all the same.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from pathlib import Path

# linux/sched.h and linux/mount.h
CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 1 << 18

# As env(1) and others exit when they fail themselves.
EXIT_FAILED = 125
EXIT_NOT_FOUND = 127

_libc = ctypes.CDLL(None, use_errno=True)


def main(arguments: list[str]) -> int:
    """Enter the namespace and become the program."""
    specification = json.loads(arguments[0])
    program = arguments[1:]
    mounts = [(str(real), str(seen)) for real, seen in specification["mounts"]]
    here = seen_as(str(Path.cwd()), mounts)
    try:
        unshare()
        arrange(Path(specification["root"]), mounts)
        os.chdir(here)
    except OSError as error:
        sys.stderr.write(f"dsv4-doctor: no mount namespace: {error}\n")
        return EXIT_FAILED
    try:
        os.execvp(program[0], program)  # noqa: S606 - a program, and no shell
    except OSError as error:
        sys.stderr.write(f"{program[0]}: {error.strerror}\n")
        return EXIT_NOT_FOUND


def seen_as(path: str, mounts: list[tuple[str, str]]) -> str:
    """Return the name that a path has in the namespace."""
    for real, seen in mounts:
        if path == real or path.startswith(f"{real}/"):
            return seen + path[len(real) :]
    return path


def unshare() -> None:
    """Get a mount namespace.

    Raises:
        OSError: The kernel does not allow it.
    """
    if _libc.unshare(CLONE_NEWNS) == 0:
        return
    user, group = os.geteuid(), os.getegid()
    _check(_libc.unshare(CLONE_NEWUSER | CLONE_NEWNS))
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")


def arrange(root: Path, mounts: list[tuple[str, str]]) -> None:
    """Give directories their names below ``root``.

    Raises:
        OSError: One cannot be mounted.
    """
    _mount("none", "/", None, MS_REC | MS_PRIVATE)
    _mount("dsv4-doctor", str(root), "tmpfs", 0)
    for real, seen in mounts:
        Path(seen).mkdir(parents=True)
        _mount(real, seen, None, MS_BIND | MS_REC)


def _mount(source: str, target: str, kind: str | None, flags: int) -> None:
    filesystem = kind.encode() if kind is not None else None
    status = _libc.mount(os.fsencode(source), os.fsencode(target), filesystem, flags, None)
    _check(status, target)


def _check(status: int, name: str | None = None) -> None:
    if status != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), name)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
