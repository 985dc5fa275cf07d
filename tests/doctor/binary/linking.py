"""Shared objects as the dynamic linker sees them, made byte by byte."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from tests.doctor.binary.builders import Part, elf

DYNAMIC, SYMBOLS, NEEDS, VERSIONS = 6, 11, 0x6FFFFFFE, 0x6FFFFFFF
GLOBAL, WEAK, LOCAL = 0x12, 0x22, 0x02


@dataclass(frozen=True)
class Want:
    """An undefined symbol."""

    name: str
    library: str = ""
    version: str = ""
    info: int = GLOBAL


class _Names:
    def __init__(self) -> None:
        self.data = b"\0"

    def at(self, name: str) -> int:
        """Add a name and return where it starts."""
        start = len(self.data)
        self.data += name.encode() + b"\0"
        return start


def shared(
    *wanted: Want | str,
    needed: Sequence[str] = (),
    defined: Sequence[str] = (),
    soname: str = "",
    rpath: str = "",
    runpath: str = "",
    more: Sequence[Part] = (),
) -> bytes:
    """Return a shared object; ``more`` are sections behind those of the dynamic linker."""
    names = _Names()
    wants = [Want(each) if isinstance(each, str) else each for each in wanted]
    versions: dict[tuple[str, str], int] = {}
    symbols, numbers = b"\0" * 24, [0]
    for want in wants:
        symbols += struct.pack("<IBBHQQ", names.at(want.name), want.info, 0, 0, 0, 0)
        key = (want.library, want.version)
        numbers.append(versions.setdefault(key, len(versions) + 2) if want.version else 1)
    for name in defined:
        symbols += struct.pack("<IBBHQQ", names.at(name), GLOBAL, 0, 1, 0, 8)
        numbers.append(1)
    tags = [(1, names.at(each)) for each in needed]
    tags += [
        (tag, names.at(text)) for tag, text in ((14, soname), (15, rpath), (29, runpath)) if text
    ]
    dynamic = b"".join(struct.pack("<qQ", *each) for each in (*tags, (0, 0)))
    needs = _needs(versions, names)
    return elf(
        Part(".dynstr", names.data, kind=3),
        Part(".dynsym", symbols, kind=SYMBOLS, link=1),
        Part(".gnu.version", struct.pack(f"<{len(numbers)}H", *numbers), kind=VERSIONS, link=2),
        Part(".gnu.version_r", needs, kind=NEEDS, link=1),
        Part(".dynamic", dynamic, kind=DYNAMIC, link=1),
        *more,
    )


def _needs(versions: dict[tuple[str, str], int], names: _Names) -> bytes:
    data = b""
    libraries = list(dict.fromkeys(library for library, _ in versions))
    for library in libraries:
        mine = [(version, number) for (lib, version), number in versions.items() if lib == library]
        size = 16 * (1 + len(mine))
        further = 0 if library == libraries[-1] else size
        data += struct.pack("<HHIII", 1, len(mine), names.at(library), 16, further)
        for version, number in mine:
            after = 0 if (version, number) == mine[-1] else 16
            data += struct.pack("<IHHII", 0, 0, number, names.at(version), after)
    return data
