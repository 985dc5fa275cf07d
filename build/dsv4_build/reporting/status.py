"""How a build goes, in one line, from the engine's diary while it grows."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import TYPE_CHECKING

from dsv4_build.reporting.diary import FILE, Diary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dsv4_build.progress import Progress
    from dsv4_build.reporting.diary import Entry

_GIB = 1 << 30

# Part of the work that has to be done before what is left can be told from it.
_ENOUGH = 0.05
_LOOK = 1.0


def text(diary: Diary, done: int, total: int) -> str:
    """Return the line; what matters most comes first, as a terminal may cut it.

    Args:
        done: What ninja has done, and of how many: units and linking.
    """
    active = [unit for unit in diary.units.values() if unit.active is not None]
    parts = [f"[{done}/{total}]" if total else f"{len(diary.done)} units done"]
    if len(diary.done) == len(diary.units) and not active:
        return parts[0]
    left = seconds_left(diary, done, total)
    parts += [
        _running(active),
        f"about {_span(left)} left" if left is not None else "",
        _memory(diary),
        _slowest(active, diary),
    ]
    if diary.kills:
        parts.append(f"{diary.kills} killed, tried again alone")
    return ", ".join(filter(None, parts))


def _running(active: list[Entry]) -> str:
    running = Counter(unit.family for unit in active if unit.active == "running")
    paused = sum(unit.active == "paused" for unit in active)
    families = ", ".join(f"{count} {family}" for family, count in running.most_common(3))
    others = sum(count for _, count in running.most_common()[3:])
    rest = f", {others} others" if others else ""
    text = f"{running.total()} running ({families}{rest})" if running else "none running"
    return text + (f", {paused} paused" if paused else "")


def seconds_left(diary: Diary, done: int, total: int) -> float | None:
    """Return how long it will still take at the pace so far, ``None`` while that is not known."""
    expected = [unit.expected_seconds or 0.0 for unit in diary.done]
    running = [
        min(_age(unit, diary), unit.expected_seconds or 0.0)
        for unit in diary.units.values()
        if unit.active is not None
    ]
    behind = sum(expected) + sum(running)
    # Units that ninja has not yet handed over are taken to be like those that it has.
    known = [unit.expected_seconds or 0.0 for unit in diary.units.values()]
    units = max(total - done, 0) + len(diary.done)
    work = sum(known) / len(known) * max(units, len(known)) if known else 0.0
    if not behind or behind < _ENOUGH * work:
        return None
    return max(work - behind, 0.0) * diary.at / behind


def _span(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds // 3600:.0f} h {seconds % 3600 / 60:.0f} min"


def _memory(diary: Diary) -> str:
    if not diary.moments:
        return ""
    last = diary.moments[-1]
    limit = f" of {last.limit / _GIB:.1f}" if last.limit is not None else ""
    return f"{last.used / _GIB:.1f}{limit} GiB"


def _slowest(active: list[Entry], diary: Diary) -> str:
    if not active:
        return ""
    slowest = max(active, key=lambda unit: _age(unit, diary))
    return f"longest {slowest.name.rpartition('/')[2]} {_span(_age(slowest, diary))}"


def _age(unit: Entry, diary: Diary) -> float:
    last = unit.stretches[-1].attempt
    return diary.at - next(each.start for each in unit.stretches if each.attempt == last)


@dataclass
class _Reader:
    """Reads what is added to a diary."""

    path: Path
    offset: int
    diary: Diary = field(default_factory=Diary)
    rest: bytes = b""

    def read(self) -> bool:
        """Take new whole lines and tell whether there were any."""
        try:
            with self.path.open("rb") as file:
                file.seek(self.offset)
                data = file.read()
        except OSError:
            return False
        self.offset += len(data)
        *lines, self.rest = (self.rest + data).split(b"\n")
        self.diary.read(line.decode("utf-8", "replace") for line in lines)
        return bool(lines)


@contextmanager
def watched(work: Path, show: Progress, look: float = _LOOK) -> Iterator[None]:
    """Show how the engine gets on while a build runs.

    Args:
        work: The work directory.
        look: Seconds between looks.
    """
    path = work / FILE
    # What an earlier attempt has left in the file is over.
    reader = _Reader(path, path.stat().st_size if path.is_file() else 0)
    over = Event()

    def look_on() -> None:
        while not over.wait(look):
            with suppress(OSError, ValueError):
                if reader.read() and reader.diary.units:
                    show.status(text(reader.diary, *show.counted))

    thread = Thread(target=look_on, name="status", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
