"""One log from its first byte to what is said of it."""

from __future__ import annotations

from collections import deque
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING

from dsv4_doctor.knowledge import signature as known
from dsv4_doctor.logs import conclusion
from dsv4_doctor.logs.matching import TELLING_GATES, Hit, Matcher, Telling, telling
from dsv4_doctor.logs.opening import chunks
from dsv4_doctor.logs.ranking import rank
from dsv4_doctor.logs.scan import STORM, Scanner, opened
from dsv4_doctor.logs.text import TextReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import IO

    from dsv4_doctor.logs.conclusion import Machine
    from dsv4_doctor.logs.diagnosis import Diagnosis
    from dsv4_doctor.logs.scan import Bare, Candidate

# Hits of one signature that are kept from the beginning and from the end of a log; a storm of
# errors must not fill the memory.
_KEPT = 40
# Lines at the end of a log among which the last thing that a program said must be.
_TAIL = 5


@cache
def _matchers() -> tuple[Matcher, Matcher]:
    """Return what matches anywhere, and what matches at the end of a log only."""
    every = known.signatures()
    return (
        Matcher(each for each in every if not each.at_end),
        Matcher(each for each in every if each.at_end),
    )


@cache
def _gates() -> dict[bytes, tuple[Bare, ...]]:
    return opened((each.encode() for each in known.gates()), _matchers()[0].literals)


class _Kept:
    """The first and the last of many."""

    def __init__(self, each: int = _KEPT) -> None:
        self._each = each
        self.count = 0
        self._first: list[Hit] = []
        self._last: deque[Hit] = deque(maxlen=each)

    def add(self, hit: Hit) -> None:
        self.count += 1
        if len(self._first) < self._each:
            self._first.append(hit)
        else:
            self._last.append(hit)

    def __iter__(self) -> Iterator[Hit]:
        return chain(self._first, self._last)


class Session:
    """Takes a log piece by piece; what is said of it can be asked for at any time."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._matcher, self._at_end = _matchers()
        self._scanner = Scanner(_gates(), TELLING_GATES)
        self._hits: dict[str, _Kept] = {}
        self._seen = 0
        self._first: dict[bool, list[Telling]] = {True: [], False: []}
        self._last: dict[bool, deque[Telling]] = {
            True: deque(maxlen=_TAIL),
            False: deque(maxlen=_TAIL),
        }

    def feed(self, data: bytes) -> None:
        """Take the next piece of clean text."""
        self._take(self._scanner.feed(data))

    def flush(self, *, final: bool = True) -> None:
        """Look at what was held back for the sake of what might follow it."""
        self._take(self._scanner.flush(final=final))

    def conclude(self, notes: Iterable[str] = (), machine: Machine | None = None) -> Diagnosis:
        """Say what is known of the log so far.

        Args:
            notes: How it was read.
            machine: What is known of the machine that wrote it.
        """
        ends = [hit for each in self._scanner.tail(_TAIL) for hit in self._at_end.match(each)]
        ranked = rank(chain(chain.from_iterable(self._hits.values()), ends))
        said = list(notes)
        if self._scanner.long_lines:
            said.append("it has lines of over 1 MB; they were searched in pieces")
        if self._scanner.storm:
            said.append(
                f"more than {STORM} lines complain; after line {self._scanner.storm} only some of"
                " them were looked at"
            )
        return conclusion.conclude(
            ranked,
            conclusion.Read(
                source=self._source,
                lines=self._scanner.lines,
                size=self._scanner.size,
                notes=tuple(said),
                counts={name: kept.count for name, kept in self._hits.items()},
                telling=self._telling(),
                last=self._scanner.tail(_TAIL),
            ),
            machine,
        )

    def changed(self) -> bool:
        """Whether something was recognised since this was last asked."""
        count = sum(each.count for each in self._hits.values())
        before, self._seen = self._seen, count
        return count != before

    def _take(self, candidates: Iterable[Candidate]) -> None:
        for candidate in candidates:
            hits = self._matcher.match(candidate)
            for hit in hits:
                self._hits.setdefault(hit.signature.id, _Kept()).add(hit)
            if not hits:
                self._note(telling(candidate))

    def _note(self, line: Telling | None) -> None:
        if line is None:
            return
        first = self._first[line.exception]
        if len(first) < _TAIL:
            first.append(line)
        else:
            self._last[line.exception].append(line)

    def _telling(self) -> tuple[Telling, ...]:
        """Return the lines that say the most: the ends of tracebacks, else whatever complains."""
        exceptions = (*self._first[True], *self._last[True])
        others = (*self._first[False], *self._last[False])
        chosen = (*exceptions[:3], *exceptions[-2:], *others[:3], *others[-2:])
        return tuple(sorted(dict.fromkeys(chosen), key=lambda each: each.number))


def diagnose(stream: IO[bytes], source: str, machine: Machine | None = None) -> Diagnosis:
    """Read a log to its end and say what is known of it.

    Args:
        stream: The log, compressed or not.
        source: What to call it.
        machine: What is known of the machine that wrote it.

    Raises:
        NoZstdError: It is compressed with zstd and this machine has no decoder.
        OSError: It cannot be read.
    """
    notes: list[str] = []
    text = TextReader()
    session = Session(source)
    for data in text.read(chunks(stream, notes)):
        session.feed(data)
    session.flush()
    return session.conclude((*notes, *text.notes), machine)
