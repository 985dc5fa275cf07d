"""Finding the few lines of a large log that may say something.

Python's regular expressions try every alternative at every byte: some 50 MB/s over a log. So lines
are told apart from what was seen first: without its digits, a line of a large log is nearly always
one that came before. Only what is new is searched, for short strings (the gates) one of which is in
every literal of every signature, and what has none of them is never looked at again.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# Bytes after what is searched that are held back, for the lines that follow one that was found.
AHEAD = 4096
# Bytes of one line that are looked at around the place that was found.
REACH = 2048
# Lines around the one that was found.
AROUND = 8

DIGITS = b"0123456789"

# Lines, without digits, that are remembered as saying nothing: some 70 bytes each.
_REMEMBERED = 400_000
# Times that a line that says something is looked at, digits apart; fewer in a storm of errors.
REPEATED = 50
_REPEATED_IN_STORM = 2
# Lines that were looked at after which it is a storm, and the most of each piece from then on.
STORM = 20_000
_IN_STORM = 50
# Places in one line of megabytes that are looked at.
_IN_ONE_LINE = 16


# A literal, and it without digits, which is how lines are remembered.
Bare: TypeAlias = tuple[bytes, bytes]


@dataclass(frozen=True)
class Candidate:
    """A line that a gate opened.

    Attributes:
        number: Its number, counted from 1.
        line: The line, or what is around the place in a very long one.
        literals: The literals in it; none when it only complains, ``None`` when not looked for.
        before: Lines before it, nearest last.
        after: Lines after it, as far as they were read.
    """

    number: int
    line: bytes
    literals: tuple[bytes, ...] | None
    before: tuple[bytes, ...]
    after: tuple[bytes, ...]


class Scanner:
    """Gives the candidates of a log that comes in pieces.

    Attributes:
        lines: Line feeds that were read.
        size: Bytes that were read.
        long_lines: Whether a line was longer than a piece.
        storm: Number of the line from which on only some of those that complain were looked at, 0
            when all were.
    """

    def __init__(self, gates: Mapping[bytes, tuple[Bare, ...]], telling: Iterable[bytes]) -> None:
        """Look for lines.

        Args:
            gates: What :func:`opened` gives.
            telling: Gates that open a line even where none of their literals is in it.
        """
        self._gates = {**dict.fromkeys(telling, ()), **gates}
        self._telling = frozenset(telling)
        self._buffer = b""
        self._before: tuple[bytes, ...] = ()
        self._seen: set[int] = set()
        self._times: dict[int, int] = {}
        self.lines = 0
        self.size = 0
        self.long_lines = False
        self.storm = 0
        self._given = 0
        self._whole = True

    def feed(self, data: bytes) -> Iterator[Candidate]:
        """Take the next piece; lines near its end are left until what follows them is known."""
        self.size += len(data)
        self._buffer += data
        end = self._buffer.rfind(b"\n", 0, max(len(self._buffer) - AHEAD, 0)) + 1
        if not end:
            if len(self._buffer) < 4 * AHEAD + len(data):
                return
            self.long_lines = True
            end = len(self._buffer) - AHEAD
        yield from self._search(end)

    def flush(self, *, final: bool = True) -> Iterator[Candidate]:
        """Search what is left, whatever may still follow it.

        Args:
            final: Whether nothing follows; otherwise a last line without its end is left.
        """
        end = len(self._buffer) if final else self._buffer.rfind(b"\n") + 1
        if end:
            yield from self._search(end)

    def tail(self, count: int) -> tuple[Candidate, ...]:
        """Return the last lines that were searched and are not empty."""
        first = self.lines + (0 if self._whole else 1) - len(self._before) + 1
        found = [
            Candidate(first + at, line, None, self._before[:at], ())
            for at, line in enumerate(self._before)
            if line.strip()
        ]
        return tuple(found[-count:])

    def _search(self, end: int) -> Iterator[Candidate]:
        text, self._buffer = self._buffer[:end], self._buffer[end:]
        whole = self._whole = text.endswith(b"\n")
        lines = (text[:-1] if whole else text).split(b"\n")
        keys = (text[:-1] if whole else text).translate(None, DIGITS).split(b"\n")
        hot = self._new(keys)
        if hot:
            places = [at for at, key in enumerate(keys) if key in hot]
            if self.storm:
                places = places[:_IN_STORM]
            yield from self._candidates(lines, [(at, hot[keys[at]]) for at in places])
            self._given += len(places)
        self.lines += len(lines) if whole else len(lines) - 1
        if self._given > STORM and not self.storm:
            self.storm = self.lines + 1
        self._before = tuple(each[-REACH:] for each in (*self._before, *lines[-AROUND:])[-AROUND:])

    def _candidates(
        self, lines: list[bytes], found: list[tuple[int, tuple[bytes, ...]]]
    ) -> Iterator[Candidate]:
        following = self._buffer[:AHEAD].split(b"\n")[:AROUND]
        around = [*self._before, *lines, *following]
        first = len(self._before)
        for at, literals in found:
            place = first + at
            before = tuple(each[-REACH:] for each in around[max(place - AROUND, 0) : place])
            after = tuple(each[:REACH] for each in around[place + 1 : place + 1 + AROUND])
            for part, inside in _parts(lines[at], literals):
                yield Candidate(self.lines + 1 + at, part, inside, before, after)

    def _new(self, keys: list[bytes]) -> dict[bytes, tuple[bytes, ...]]:
        """Return the lines, without digits, that a gate opens, with the literals in them."""
        by_hash = dict(zip(map(hash, keys), keys, strict=True))
        new = by_hash.keys() - self._seen
        if not new:
            return {}
        hot = self._opened_lines(b"\n".join(by_hash[each] for each in new))
        if len(self._seen) > _REMEMBERED:
            self._seen.clear()
        self._seen.update(new.difference(map(hash, hot)))
        for key in hot:
            self._count(hash(key))
        return hot

    def _opened_lines(self, text: bytes) -> dict[bytes, tuple[bytes, ...]]:
        found: dict[bytes, tuple[bytes, ...]] = {}
        for gate, literals in self._gates.items():
            at = text.find(gate)
            while at >= 0:
                end = text.find(b"\n", at)
                end = len(text) if end < 0 else end
                key = text[text.rfind(b"\n", 0, at) + 1 : end]
                inside = tuple(each for each, bare in literals if bare in key)
                if inside or gate in self._telling:
                    found[key] = (*found.get(key, ()), *inside)
                at = text.find(gate, end)
        return found

    def _count(self, key: int) -> None:
        times = self._times[key] = self._times.get(key, 0) + 1
        enough = _REPEATED_IN_STORM if self.storm else REPEATED
        if times >= enough or len(self._times) > _REMEMBERED:
            del self._times[key]
            self._seen.add(key)


def opened(gates: Iterable[bytes], literals: Iterable[bytes]) -> dict[bytes, tuple[Bare, ...]]:
    """Return the literals behind each gate; what no gate is in gets a gate of its own."""
    unique = tuple(dict.fromkeys(literals))
    bare = {each: each.translate(None, DIGITS) for each in unique}
    found = {gate: tuple(pair for pair in bare.items() if gate in pair[1]) for gate in gates}
    for each in unique:
        if not any(gate in bare[each] for gate in found):
            gate = bare[each]
            found[gate] = tuple(pair for pair in bare.items() if gate in pair[1])
    return found


def _parts(line: bytes, literals: tuple[bytes, ...]) -> Iterator[tuple[bytes, tuple[bytes, ...]]]:
    """Yield the line, or what is around each literal in a very long one."""
    found = tuple(each for each in dict.fromkeys(literals) if each in line)
    if len(line) <= 2 * REACH:
        yield line, found
        return
    for literal in islice(found, _IN_ONE_LINE):
        at = line.find(literal)
        part = line[max(at - REACH, 0) : at + REACH]
        yield part, tuple(each for each in found if each in part)
