"""The arguments of a release's own Dockerfile, with their defaults."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.knowledge.extract.histories import Said
    from dsv4_doctor.knowledge.extract.tree import SourceTree

# Older trees have it at the top.
FILES = ("docker/Dockerfile", "Dockerfile")

_ARGUMENT = re.compile(
    r"\s*ARG\s+(?P<name>\w+)=(?P<value>'[^']*'|\"[^\"]*\"|\S*)\s*",
    re.IGNORECASE,
)


def arguments(tree: SourceTree) -> dict[str, Said]:
    """Return the arguments with their defaults, each from its first line that has one."""
    found: dict[str, Said] = {}
    for file in FILES:
        for name, value, line in defaults(tree.text(file) or ""):
            default = {"expression": value} if "$" in value else value
            found.setdefault(name, ({"default": default}, file, line))
    return dict(sorted(found.items()))


def defaults(text: str) -> Iterator[tuple[str, str, int]]:
    """Give name, default and line; one that is empty or an address is passed over."""
    for number, line in enumerate(text.splitlines(), start=1):
        match = _ARGUMENT.fullmatch(line)
        if match is None:
            continue
        value = match["value"].strip("'\"")
        if value and "://" not in value:
            yield match["name"], value, number
