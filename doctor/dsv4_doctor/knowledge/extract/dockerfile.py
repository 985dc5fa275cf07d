"""The arguments of a release's own Dockerfile, with their defaults."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dsv4_doctor.knowledge.extract.facts import Json, cited

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.knowledge.extract.tree import SourceTree

# Older trees have it at the top.
FILES = ("docker/Dockerfile", "Dockerfile")

_ARGUMENT = re.compile(
    r"\s*ARG\s+(?P<name>\w+)=(?P<value>'[^']*'|\"[^\"]*\"|\S*)\s*",
    re.IGNORECASE,
)


def arguments(tree: SourceTree) -> Json:
    """Return the arguments that have a plain default, each from its first line."""
    found: Json = {}
    for file in FILES:
        for name, value, line in defaults(tree.text(file) or ""):
            found.setdefault(name, cited(value, file, line))
    return dict(sorted(found.items()))


def defaults(text: str) -> Iterator[tuple[str, str, int]]:
    """Give name, default and line; a default made of others, or empty, is passed over."""
    for number, line in enumerate(text.splitlines(), start=1):
        match = _ARGUMENT.fullmatch(line)
        if match is None:
            continue
        value = match["value"].strip("'\"")
        if value and "$" not in value and "://" not in value:
            yield match["name"], value, number
