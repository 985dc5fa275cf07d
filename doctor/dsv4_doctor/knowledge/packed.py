"""The small form of a release's knowledge file: its files are named once, the rest by number.

A place is ``NUMBER:LINE``, or ``NUMBER`` where there is no line; ``files`` has the paths of the
release's own tree, and of what stands elsewhere the project, its release and the path.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Json = Mapping[str, Any]

FILES = "files"
# The keys whose values are places, one or a list of them.
_FIRST = ("schema", "release", "sdist_sha256")
PLACES = frozenset({"at"})


def unpack(data: Json) -> dict[str, Any]:
    """Return the content of a file with every place written out."""
    files: list[Any] = data[FILES]

    def written_out(place: Any) -> Any:
        number, _, line = str(place).partition(":")
        file = files[int(number)]
        if isinstance(file, str):
            return f"{file}:{line}" if line else file
        return {**file, "line": int(line)} if line else dict(file)

    return {key: _mapped(value, written_out) for key, value in data.items() if key != FILES}


def pack(data: Json) -> dict[str, Any]:
    """Return the small form of what :func:`unpack` returns."""
    numbers: dict[str, int] = {}

    def by_number(place: Any) -> str:
        if isinstance(place, str):
            file, _, line = place.rpartition(":")
            named: Any = file if line.isdecimal() else place
            line = line if line.isdecimal() else ""
        else:
            named = {key: each for key, each in place.items() if key != "line"}
            line = str(place.get("line", ""))
        number = numbers.setdefault(json.dumps(named), len(numbers))
        return f"{number}:{line}" if line else str(number)

    packed = {key: _mapped(value, by_number) for key, value in data.items()}
    first: dict[str, Any] = {key: packed.pop(key) for key in _FIRST if key in packed}
    return {**first, FILES: [json.loads(key) for key in numbers], **packed}


def _mapped(value: Any, change: Callable[[Any], Any], *, is_place: bool = False) -> Any:
    """Apply a change to every place in a piece of JSON."""
    if isinstance(value, list):
        return [_mapped(each, change, is_place=is_place) for each in value]
    if is_place:
        return change(value)
    if isinstance(value, dict):
        return {key: _mapped(each, change, is_place=key in PLACES) for key, each in value.items()}
    return value
