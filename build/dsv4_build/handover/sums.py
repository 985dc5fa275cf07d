"""``SHA256SUMS``: the digests of a directory's files, as ``sha256sum -c`` reads them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dsv4_doctor.files import atomically

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

NAME = "SHA256SUMS"

# As GNU coreutils writes it; a backslash in front says that the name is escaped.
_LINE = re.compile(r"(?P<escaped>\\?)(?P<digest>[0-9a-f]{64}) [ *](?P<name>.+)")
_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r"}
_BACK = {escaped: plain for plain, escaped in _ESCAPES.items()}


def add(digests: Mapping[str, str], directory: Path) -> None:
    """Write the digests of files, beside those of files that are still there.

    Args:
        digests: SHA-256 by name, relative to the directory.

    Raises:
        OSError: It cannot be read or written.
    """
    file = directory / NAME
    before = read(file.read_text(encoding="utf-8", errors="replace")) if file.is_file() else {}
    kept = {name: each for name, each in before.items() if (directory / name).is_file()}
    text = render({**kept, **digests})
    atomically(file, lambda to: to.write(text.encode("utf-8", "surrogateescape")))


def render(digests: Mapping[str, str]) -> str:
    """Return the lines, sorted by name."""
    return "".join(f"{_line(name, digests[name])}\n" for name in sorted(digests))


def read(text: str) -> dict[str, str]:
    """Return the digests by name; lines of another form are left out."""
    found: dict[str, str] = {}
    for line in text.split("\n"):
        match = _LINE.fullmatch(line)
        if match is not None:
            name = match["name"]
            found[_unescaped(name) if match["escaped"] else name] = match["digest"]
    return found


def _line(name: str, digest: str) -> str:
    escaped = "".join(_ESCAPES.get(each, each) for each in name)
    return f"{'' if escaped == name else chr(92)}{digest}  {escaped}"


def _unescaped(name: str) -> str:
    return re.sub(r"\\[\\nr]", lambda match: _BACK[match[0]], name)
