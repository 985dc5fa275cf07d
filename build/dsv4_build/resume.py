"""Going on with a compilation that was cut off: what of it is believed, and what is removed.

Ninja itself believes an object only when its log has a line for it, which it writes after the
compiler has ended; an object that a compiler was killed at has none and is made again. A line that
is torn is no line. What it cannot know is left to this module: files of CMake that were being
written, what the build backend copied, and what a machine that lost its power had not yet written
to the disk although ninja's log says so.
"""

from __future__ import annotations

import re
import shutil
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from dsv4_build.durable import flush
from dsv4_build.journal import boot
from dsv4_doctor.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dsv4_build.work import Workspace

STEP = "compile"

# CMake's own last line, the same in every release and locale that a build sees.
_CONFIGURED = re.compile(r"-- Build files have been written to: (?P<directory>/.+)")

# What CMake found out of compilers is in a directory named by its own version.
_DETECTED = "[0-9]*"
_CACHE = "CMakeCache.txt"

# Seconds between moments at which everything is forced to the disk. What was written after the
# last of them is made again when the machine goes down.
INTERVAL = 60.0

# Seconds that the clock of a file system may be behind.
_SLACK = 1.0


@dataclass(frozen=True)
class Attempt:
    """An earlier attempt to compile, as the journal has it.

    Attributes:
        configured: Directories that CMake had set up.
        synced: Moment until which everything is on the disk, in seconds.
        lost: Whether the machine went down before the attempt had ended.
        prepared: Whether it had removed what earlier attempts left, so that it wrote anything.
    """

    configured: frozenset[str]
    synced: float
    lost: bool
    prepared: bool


def attempts(entries: Iterable[dict[str, Any]], now: str) -> list[Attempt]:
    """Return every attempt in a journal.

    Args:
        now: What the kernel calls this boot.
    """
    found: list[list[dict[str, Any]]] = []
    for entry in entries:
        if (entry["event"], entry.get("step")) == ("begin", STEP):
            found.append([])
        if found:
            found[-1].append(entry)
    return [_attempt(lines, now) for lines in found]


def _attempt(lines: list[dict[str, Any]], now: str) -> Attempt:
    ended = any((each["event"], each.get("step")) == ("end", STEP) for each in lines)
    synced = [each["until"] for each in lines if each["event"] == "synced" and "until" in each]
    return Attempt(
        configured=frozenset(
            str(each.get("directory")) for each in lines if each["event"] == "configured"
        ),
        synced=max((each for each in synced if isinstance(each, int | float)), default=0.0),
        lost=not ended and lines[0].get("boot") != now,
        prepared=any(each["event"] == "prepared" for each in lines),
    )


def prepare(work: Workspace) -> list[str]:
    """Remove what an earlier attempt left half-done, once this one is in the journal.

    Returns:
        What was removed, for a reader; empty when this is the first attempt.

    Raises:
        BuildError: It cannot be removed.
    """
    before = attempts(work.journal.read(), boot())[:-1]
    notes: list[str] = []
    if before:
        known = frozenset().union(*(each.configured for each in before))
        since = _unwritten_since(before)
        try:
            notes += _drop_products(work, known)
            notes += _reset_configuration(work, known - before[-1].configured)
            notes += _drop_unwritten(work, known, since) if since is not None else ()
        except OSError as error:
            msg = f"what an earlier attempt left cannot be removed: {error}"
            raise BuildError(msg, hint="--clean begins anew") from error
    work.journal.append("prepared")
    return notes


def _unwritten_since(before: list[Attempt]) -> float | None:
    """Return since when files may not have reached the disk; ``None`` when all have.

    An attempt that was cut off before it had removed such files leaves that to the next one.
    """
    moments = []
    for each in reversed(before):
        if each.lost and each.prepared:
            moments.append(each.synced)
        if each.prepared:
            break
    return min(moments, default=None)


def _drop_products(work: Workspace, known: frozenset[str]) -> Iterator[str]:
    """Remove everything that is built but the directories that ninja answers for.

    What setuptools copies is believed by its time alone, also when it is half of a file.
    """
    places = [work.build, work.backend, *_entries(work.source / "build")]
    for place in places:
        if place.exists() and str(place) not in known:
            shutil.rmtree(place)
            yield f"{place.name} was not complete and is made anew"


def _reset_configuration(work: Workspace, directories: Iterable[str]) -> Iterator[str]:
    """Bring CMake's own files back to what they were when it had ended; the objects stay.

    Without its cache, CMake would generate sources anew, and whatever they are compiled to.
    """
    for directory in map(Path, sorted(directories)):
        saved = _saved(work, directory)
        if not (saved / _CACHE).is_file():
            shutil.rmtree(directory, ignore_errors=True)
        elif directory.is_dir():
            _copy_configuration(saved, directory)
        yield f"{directory.name} was being configured and is configured anew"


def _save_configuration(work: Workspace, directory: Path) -> None:
    saved = _saved(work, directory)
    fresh = saved.with_suffix(".new")
    shutil.rmtree(fresh, ignore_errors=True)
    _copy_configuration(directory, fresh)
    shutil.rmtree(saved, ignore_errors=True)
    fresh.rename(saved)


def _saved(work: Workspace, directory: Path) -> Path:
    return work.configured / directory.name


def _copy_configuration(source: Path, target: Path) -> None:
    for each in (target / "CMakeFiles").glob(_DETECTED):
        shutil.rmtree(each)
    # Below those files are the programs that CMake tried; nothing asks for them again.
    found = [each for each in source.glob(f"CMakeFiles/{_DETECTED}/*") if each.is_file()]
    for each in (source / _CACHE, *found):
        place = target / each.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(each, place)


def _drop_unwritten(work: Workspace, known: frozenset[str], synced: float) -> Iterator[str]:
    since = synced - _SLACK
    fetched = list(_newer(work.deps, since))
    if fetched:
        shutil.rmtree(work.deps)
        yield "external projects were being fetched when the machine went down; fetched anew"
    count = 0
    for file in (each for directory in sorted(known) for each in _newer(Path(directory), since)):
        if not file.name.startswith(".ninja_"):  # Torn ones, ninja itself mends.
            file.unlink()
            count += 1
    if count:
        yield f"{count} files of the last moments before the machine went down are made anew"


def _newer(directory: Path, since: float) -> list[Path]:
    return [
        file
        for file in directory.rglob("*")
        if file.is_file() and not file.is_symlink() and file.stat().st_ctime >= since
    ]


def _entries(directory: Path) -> list[Path]:
    return sorted(directory.iterdir()) if directory.is_dir() else []


@contextmanager
def recorded(
    work: Workspace,
    on_line: Callable[[str], None],
    real: Callable[[str], str] = str,
    interval: float = INTERVAL,
) -> Iterator[Callable[[str], None]]:
    """Keep in the journal how far a compilation is, while it runs.

    Args:
        on_line: Gets each line that the context's own function is given.
        real: Where a directory is that a program of the build names.
        interval: Seconds between moments at which everything is forced to the disk.
    """

    def take(line: str) -> None:
        match = _CONFIGURED.search(line)
        if match is not None:
            _configured(work, Path(real(match["directory"].rstrip("/"))))
        on_line(line)

    over = Event()
    thread = Thread(target=_sync_now_and_then, args=(work, over, interval), daemon=True)
    thread.start()
    try:
        yield take
    finally:
        over.set()
        thread.join()


def _configured(work: Workspace, directory: Path) -> None:
    if not directory.is_relative_to(work.root) or directory.is_relative_to(work.deps):
        return  # An external project has a CMake of its own, which configures it anew each time.
    # On a disk that is full CMake says the same; without this line all of it is made anew.
    with suppress(BuildError, OSError):
        _save_configuration(work, directory)
        _sync(work)
        work.journal.append("configured", directory=str(directory))


def _sync_now_and_then(work: Workspace, over: Event, interval: float) -> None:
    while not over.wait(interval):
        # On a disk that is full the compilers fail, and say so.
        with suppress(BuildError, OSError):
            _sync(work)


def _sync(work: Workspace) -> None:
    until = time.time()
    flush(work.root)
    work.journal.append("synced", until=until)
