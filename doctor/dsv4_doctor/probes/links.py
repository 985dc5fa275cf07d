"""Following symbolic links one at a time."""

from __future__ import annotations

from pathlib import Path

from dsv4_doctor.facts.toolkit import PathChain
from dsv4_doctor.probes import files

# As many as the kernel follows before it says ELOOP.
_MAX_LINKS = 40


def follow(value: str) -> PathChain:
    """Return a path with everything that its links lead to, link by link.

    Links in the middle of the path count, too: each hop is the whole path with one more link
    replaced by its target. Slashes without meaning are dropped from the value, so that a trailing
    one is not taken for a link.
    """
    given = path = Path(value)
    hops: list[str] = []
    while len(hops) < _MAX_LINKS:
        following = _next(path)
        if following == path:
            return PathChain(str(given), tuple(hops), files.exists(path))
        path = following
        hops.append(str(path))
    return PathChain(str(given), tuple(hops), exists=False)


def _next(path: Path) -> Path:
    """Replace the first link of a path; ``..`` is taken where the links have led."""
    absolute = path if path.is_absolute() else Path.cwd() / path
    done = Path(absolute.anchor)
    parts = absolute.parts[1:]
    for index, part in enumerate(parts):
        if part == "..":
            done = done.parent
            continue
        here = done / part
        try:
            target = here.readlink()
        except (OSError, ValueError):
            done = here
            continue
        return done.joinpath(target, *parts[index + 1 :])
    return done
