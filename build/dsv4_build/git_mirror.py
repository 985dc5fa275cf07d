"""Redirecting git to local repositories, while upstream's own FetchContent stays in force."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

_HOST = "https://github.com/"


def environment(
    mirror: Path, repositories: Iterable[str], environ: Mapping[str, str]
) -> dict[str, str]:
    """Return the variables that send git to a directory of repositories.

    The directory holds ``OWNER/NAME.git``. Owner and name are compared without regard to case,
    as the host does; git itself compares URLs exactly, so that every spelling gets a line.

    Args:
        repositories: URLs as the release spells them.
        environ: The caller's variables; configuration that they hold is kept.

    Raises:
        InputError: The directory holds no repository.
    """
    found = _repositories(mirror)
    if not found:
        msg = f"{mirror}: holds no OWNER/NAME.git"
        raise InputError(msg)
    spelled = [
        *repositories,
        *(_HOST + name for name in found),
        *(_HOST + name for name in map(str.lower, found)),
    ]
    by_key = {name.lower(): directory for name, directory in found.items()}
    pairs: dict[str, str] = {}
    for url in spelled:
        base = url.removesuffix(".git")
        directory = by_key.get(base.removeprefix(_HOST).lower())
        if directory is None or not base.startswith(_HOST):
            continue
        local = directory.resolve().as_uri()
        pairs[f"{base}.git"] = local
        pairs[base] = local
    return configuration(pairs, environ)


def _repositories(mirror: Path) -> dict[str, Path]:
    return {
        f"{entry.parent.name}/{entry.name.removesuffix('.git')}": entry
        for entry in sorted(mirror.glob("*/*.git"))
        if entry.is_dir()
    }


def configuration(
    pairs: Mapping[str, str], environ: Mapping[str, str], more: Iterable[tuple[str, str]] = ()
) -> dict[str, str]:
    """Return the variables that give git its configuration, after what the caller's own hold.

    Args:
        pairs: URLs that begin so, and what takes the place of that.
        more: Further keys with their values.
    """
    lines = [(f"url.{local}.insteadOf", url) for url, local in pairs.items()]
    lines += more
    # Since git 2.38 a submodule may not come from a local path unless it is allowed.
    lines.append(("protocol.file.allow", "always"))
    before = environ.get("GIT_CONFIG_COUNT", "0")
    start = int(before) if before.isdigit() else 0
    variables = {"GIT_CONFIG_COUNT": str(start + len(lines))}
    for number, (key, value) in enumerate(lines, start):
        variables[f"GIT_CONFIG_KEY_{number}"] = key
        variables[f"GIT_CONFIG_VALUE_{number}"] = value
    return variables
