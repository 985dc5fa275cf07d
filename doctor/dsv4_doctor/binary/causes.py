"""Why the bytes of two builds differ, as far as that can be established.

What a compiler writes into an object besides code (names of temporary files, hashes of paths,
paths, its own version) is taken out of both. Where nothing but these differed, both are then the
same, and the causes are established; where they are not, nothing is claimed.

What nvcc 13.0.88 does was measured: a second run differs in the name ``tmpxft_<pid>_…`` of its
intermediate file, a source in another directory in the eight digits behind ``_INTERNAL_`` and
``_GLOBAL__N__``.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CauseKind: TypeAlias = Literal[
    "temporary-names",
    "module-ids",
    "paths",
    "times",
    "compiler",
    "options",
    "compression",
    "build-id",
    "offsets",
    "device-code",
    "record",
    "generator",
    "order",
    "line-endings",
    "modes",
    "content",
]


class _Names(NamedTuple):
    """Something that a compiler names anew; what is in brackets in the pattern stays."""

    kind: CauseKind
    # One of them is in every match. They are looked for first, which takes a tenth of the time.
    marks: tuple[bytes, ...]
    pattern: re.Pattern[bytes]

    def found(self, data: bytes) -> dict[bytes, None]:
        if not self._marked(data):
            return {}
        return dict.fromkeys(each.group() for each in self.pattern.finditer(data))

    def removed(self, data: bytes) -> bytes:
        return self.pattern.sub(rb"\1", data) if self._marked(data) else data

    def _marked(self, data: bytes) -> bool:
        return any(each in data for each in self.marks)


_NAMES = (
    _Names("temporary-names", (b"tmpxft_",), re.compile(rb"(tmpxft_)[0-9a-f]{8}_[0-9a-f]{8}")),
    _Names(
        "module-ids",
        (b"_INTERNAL_", b"_GLOBAL__N__"),
        re.compile(rb"(_INTERNAL_|_GLOBAL__N__)[0-9a-f]{8}"),
    ),
    _Names(
        "compiler",
        (b"release ", b"Build cuda_", b"Build ID: ", b"GCC: (", b"clang version "),
        re.compile(
            rb"(Cuda compilation tools, release )[\d.]+, V[\d.]+|Build cuda_[\w./+-]+"
            rb"|Compiler Build ID: CL-\d+|GCC: \([^)\0\n]{0,100}\) [\d.]+[^\0\n]{0,40}"
            rb"|clang version [^\0\n]{1,100}"
        ),
    ),
)
_OPTIONS = re.compile(rb"(?<![\w.-])-[\x20-\x7e]{2,400}")
_PATH = re.compile(rb"/(?:[\w.+@~-]{1,255}/){1,64}[\w.+@~-]{1,255}", re.ASCII)
# A file with more different paths than this is a list of paths; the first show where it was built.
_MOST_PATHS = 4096
_MOST_PREFIXES = 8
# Larger parts are compared, but not looked into: that takes several copies of both in memory.
LARGEST_PART = 8 << 20
_SHOWN = 100


@dataclass(frozen=True)
class Cause:
    """Something that makes the bytes differ.

    Attributes:
        kind: Of what kind it is.
        where: Such as ``.strtab; .nv_fatbin sm_90 .strtab``, or empty for all of a file.
        detail: What it was in the older and is in the newer one.
    """

    kind: CauseKind
    where: str
    detail: str


class Explained:
    """What has been found out about two files, part by part.

    Attributes:
        causes: What makes them differ.
        unexplained: Parts that differ for reasons that were not established.
    """

    def __init__(self) -> None:
        self.causes: list[Cause] = []
        self.unexplained: list[str] = []
        # A directory that one part shows to have moved explains the others, too.
        self._moved: dict[tuple[bytes, bytes], None] = {}

    def part(self, old: bytes, new: bytes, where: str, *, strings: bool = False) -> bool:
        """Take a part of both that differs, and say whether that is explained.

        Args:
            old: Of the older file.
            new: Of the newer one.
            where: What it is called.
            strings: Whether it is a table of strings, whose order says nothing.
        """
        whole = self.explains(old, new, where, strings=strings)
        if not whole:
            self.unexplained.append(sized(where, len(old), len(new)))
        return whole

    def options(self, old: bytes, new: bytes, where: str) -> None:
        """Take a part of both that notes with which options a tool was called."""
        mine, theirs = (b" ".join(_OPTIONS.findall(each)).strip() for each in (old, new))
        whole = self.explains(old, new, where)
        if mine != theirs:
            self.causes.append(Cause("options", where, changed((mine, theirs))))
        elif not whole:
            self.unexplained.append(sized(where, len(old), len(new)))

    def too_large(self, where: str, before: int, after: int) -> None:
        """Take a part that differs and that would take too much memory to look into."""
        self.unexplained.append(f"{sized(where, before, after)}, too large to look into")

    def explains(self, old: bytes, new: bytes, where: str, *, strings: bool = False) -> bool:
        """As :meth:`part`, but leave it to the caller what to make of the rest."""
        known = len(self.causes)
        for each in _NAMES:
            mine, theirs = each.found(old), each.found(new)
            if mine != theirs:
                self.causes.append(Cause(each.kind, where, changed(_first_only(mine, theirs))))
        old, new = neutral(old), neutral(new)
        self._moved.update(dict.fromkeys(_prefixes(old, new)))
        moved = False
        for pair in sorted(self._moved, key=lambda pair: -len(pair[0])):
            if pair[0] in old and pair[1] in new:
                self.causes.append(Cause("paths", where, changed(pair)))
                old, new = old.replace(pair[0], b""), new.replace(pair[1], b"")
                moved = True
        if old == new:
            # Names that only changed places would explain nothing.
            return len(self.causes) > known
        # A path of another length moves what follows, and with it the zeros that align it.
        before, after = ([piece for piece in data.split(b"\0") if piece] for data in (old, new))
        if moved and before == after:
            return True
        if not strings or Counter(before) != Counter(after):
            return False
        self.causes.append(Cause("order", where, "the same strings at other places"))
        return True


def sized(where: str, before: int, after: int) -> str:
    """Return the name of a part, with its sizes where they differ."""
    return where if before == after else f"{where}, {before:,} -> {after:,} bytes"


def neutral(data: bytes) -> bytes:
    """Return some bytes without what every run of a compiler names anew."""
    for each in _NAMES:
        data = each.removed(data)
    return data


def merge(causes: Iterable[Cause]) -> tuple[Cause, ...]:
    """Put what is of one kind and has one detail together, with every place that it is in."""
    places: dict[tuple[CauseKind, str], dict[str, None]] = {}
    for each in causes:
        places.setdefault((each.kind, each.detail), {})[each.where] = None
    return tuple(
        Cause(kind, "; ".join(where for where in found if where), detail)
        for (kind, detail), found in places.items()
    )


def changed(pair: tuple[bytes, bytes]) -> str:
    """Return ``OLDER -> NEWER``."""
    return " -> ".join(_readable(each) or "none" for each in pair)


def _readable(data: bytes) -> str:
    text = data.decode("utf-8", "replace")
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _first_only(old: dict[bytes, None], new: dict[bytes, None]) -> tuple[bytes, bytes]:
    """Return the first that only the older one has, and the first that only the newer one has."""
    return (
        next((each for each in old if each not in new), b""),
        next((each for each in new if each not in old), b""),
    )


def _prefixes(old: bytes, new: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield directories in which the same files lie in both, the longest first."""
    mine, theirs = _paths(old), _paths(new)
    named: dict[bytes, bytes] = {}
    for each in theirs:
        if each not in mine:
            named.setdefault(each.rsplit(b"/", 1)[-1], each)
    pairs: Counter[tuple[bytes, bytes]] = Counter()
    for each in mine:
        other = named.get(each.rsplit(b"/", 1)[-1])
        if other is not None and each not in theirs:
            pairs[_without_common_end(each, other)] += 1
    most = [pair for pair, _ in pairs.most_common(_MOST_PREFIXES) if all(pair)]
    yield from sorted(most, key=lambda pair: -len(pair[0]))


def _paths(data: bytes) -> dict[bytes, None]:
    found: dict[bytes, None] = {}
    for each in _PATH.finditer(data):
        found[each.group()] = None
        if len(found) >= _MOST_PATHS:
            break
    return found


def _without_common_end(one: bytes, other: bytes) -> tuple[bytes, bytes]:
    mine, theirs = one.split(b"/"), other.split(b"/")
    while len(mine) > 1 and len(theirs) > 1 and mine[-1] == theirs[-1]:
        mine.pop()
        theirs.pop()
    return b"/".join(mine), b"/".join(theirs)
