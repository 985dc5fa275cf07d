"""Which release a checkout is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dsv4_doctor.errors import InputError
from dsv4_doctor.process import ProcessError, run

if TYPE_CHECKING:
    from pathlib import Path

_VERSION_FILE = re.compile(r"^(?:__version__\s*=\s*)?version\s*=\s*['\"]([^'\"]+)", re.MULTILINE)
_DESCRIBED = re.compile(r"v?(?P<tag>.+)-(?P<commits>\d+)-g(?P<commit>[0-9a-f]+)")


def checkout_version(path: Path) -> str:
    """Return the version of a tree without PKG-INFO, from its version file or its git tags.

    Raises:
        InputError: The tree says nothing of its version.
    """
    file = path / "vllm" / "_version.py"
    if path.is_dir() and file.is_file():
        match = _VERSION_FILE.search(file.read_text(encoding="utf-8", errors="replace"))
        if match is not None:
            return match[1]
    described = _DESCRIBED.fullmatch(_describe(path))
    if described is None:
        msg = f"{path}: its version is not known: no PKG-INFO, no vllm/_version.py, no tag in git"
        raise InputError(msg, hint="git fetch --tags, or give the sdist of a release")
    commits = f"+{described['commits']}.g{described['commit']}"
    return described["tag"] + (commits if described["commits"] != "0" else "")


def _describe(path: Path) -> str:
    if not (path / ".git").exists():
        return ""
    try:
        done = run(["git", "-C", str(path), "describe", "--tags", "--long", "--match", "v[0-9]*"])
    except ProcessError:
        return ""
    return done.stdout.strip() if done.ok else ""
