"""The directory that a build works in, and the journal of what was done there."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from dsv4_build.cache import holder, locked
from dsv4_build.durable import digests, flush, intact
from dsv4_build.journal import Journal, boot
from dsv4_build.schedule import session
from dsv4_build.sources import vendor
from dsv4_doctor.errors import BuildError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from dsv4_build.plan import Step
    from dsv4_build.process import Usage

JOURNAL = "journal.jsonl"

# Digits of a key that name a directory.
_SHORT = 12


@dataclass(frozen=True)
class Workspace:
    """A locked work directory.

    Attributes:
        root: Where everything is.
        journal: What was done there, by this build and by earlier ones of the same inputs.
    """

    root: Path
    journal: Journal

    @property
    def source(self) -> Path:
        """The copy of the tree."""
        return self.root / "source"

    @property
    def deps(self) -> Path:
        """Where CMake fetches external projects to."""
        return self.root / "deps"

    @property
    def build(self) -> Path:
        """Where CMake builds when ``setup.py`` is not involved."""
        return self.root / "build"

    @property
    def backend(self) -> Path:
        """Where the build backend puts its wheel."""
        return self.root / "backend"

    @property
    def configured(self) -> Path:
        """What CMake knew when it had set up each build directory."""
        return self.root / "configured"

    @property
    def result(self) -> Path:
        """What was built, before it is proved."""
        return self.root / "result"

    @property
    def proof(self) -> Path:
        """What was proved of the result."""
        return self.root / "proof.json"

    @property
    def log(self) -> Path:
        """The output of every child."""
        return self.root / "build.log"

    def new_log(self) -> None:
        """Put the log of an earlier attempt aside, so that its errors are not taken for new ones.

        Raises:
            BuildError: It cannot be moved.
        """
        try:
            if self.log.exists():
                self.log.replace(self.root / "build.previous.log")
        except OSError as error:
            msg = f"{self.log}: cannot be put aside: {error}"
            raise BuildError(msg) from error

    @contextmanager
    def step(self, step: Step, usage: list[Usage], outputs: Sequence[Path] = ()) -> Iterator[None]:
        """Write to the journal that a step begins, and how it ends.

        Args:
            usage: Filled by the step with what its children took.
            outputs: Files and directories that the step makes. They are on the disk before the
                journal says that it is done.

        Raises:
            BuildError: An output is not there, or the journal cannot be written.
        """
        started = _now()
        self.journal.append("begin", step=step.name, key=step.key, start=started, boot=boot())
        done: dict[str, str] = {}
        outcome, detail = "failed", ""
        try:
            yield
            done = self._settle(outputs)
            outcome = "done"
        except KeyboardInterrupt:
            outcome = "interrupted"
            raise
        except Exception as error:
            detail = str(error)
            raise
        finally:
            self._end(
                step=step.name,
                key=step.key,
                start=started,
                end=_now(),
                outcome=outcome,
                detail=detail,
                usage=[asdict(each) for each in usage],
                outputs=done,
            )

    def kept(self, step: Step, outputs: Sequence[Path]) -> bool:
        """Whether an earlier build did a step with the same inputs, and its outputs are intact."""
        lines = [each for each in self.journal.read() if each.get("step") == step.name]
        last = lines[-1] if lines else {}
        if (last.get("outcome"), last.get("key")) != ("done", step.key):
            return False
        recorded = last.get("outputs")
        return isinstance(recorded, dict) and intact(self.root, outputs, recorded)

    def tidy(self) -> None:
        """Remove what nothing is asked of once the result is handed over; result and log stay.

        Raises:
            BuildError: It cannot be removed.
        """
        launcher = self.root / session.DIRECTORY
        crates = self.root / vendor.DIRECTORY
        ways = (self.source, self.deps, self.build, self.backend, self.configured, launcher, crates)
        for each in ways:
            discard(each)

    def _settle(self, outputs: Sequence[Path]) -> dict[str, str]:
        if not outputs:
            return {}
        try:
            flush(self.root)
            return digests(self.root, outputs)
        except OSError as error:
            msg = f"what was built is not there: {error}"
            raise BuildError(msg) from error

    def _end(self, *, outcome: str, **fields: Any) -> None:
        try:
            self.journal.append("end", outcome=outcome, **fields)
        except BuildError:
            # Of a step that failed, its own reason is what matters; no line means the same.
            if outcome == "done":
                raise


@contextmanager
def workspace(
    root: Path,
    key: str,
    *,
    clean: bool = False,
    say: Callable[[str], None] | None = None,
    parked: Path | None = None,
) -> Iterator[Workspace]:
    """Hold a work directory until the build is over.

    What an earlier build of the same inputs left there stays.

    Args:
        key: Of the inputs; what another key left is removed.
        clean: Remove what is there in any case.
        say: Told for whom it waits; ``None`` refuses to wait.
        parked: Where to keep what other inputs left, for a directory that all builds share.

    Raises:
        BuildError: Another build holds it and ``say`` is ``None``, or it cannot be made.
        UsageError: It holds something that no build put there.
    """
    lock = lock_of(root)

    def waiting() -> None:
        if say is not None:
            say(f"{root} is in use by {holder(lock)}; waiting for it to end")

    with locked(lock, on_wait=waiting if say is not None else None):
        journal = Journal.at(root / JOURNAL)
        _require_ours(root)
        try:
            before = _key(journal)
            if parked is not None and before != key:
                _change_places(root, parked, before, key)
            if clean or _key(journal) != key:
                remove(root)
            root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            msg = f"{root}: cannot be emptied to build in: {error}"
            raise BuildError(msg) from error
        journal.append("build", key=key, start=_now(), boot=boot())
        yield Workspace(root, journal)


def lock_of(root: Path) -> Path:
    """Return the file that whoever uses a work directory holds."""
    return root.with_name(f".{root.name}.lock")


def remove(root: Path) -> None:
    """Remove a work directory, its journal last: what is half removed is still known as one.

    Raises:
        OSError: Something cannot be removed.
    """
    if not root.exists():
        return
    for entry in root.iterdir():
        if entry.name == JOURNAL:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    shutil.rmtree(root)


def discard(directory: Path) -> None:
    """Remove a directory of a work directory with all that is in it, if it is there.

    Raises:
        BuildError: It cannot be removed.
    """
    try:
        if directory.exists():
            shutil.rmtree(directory)
    except OSError as error:
        msg = f"{directory}: cannot be removed: {error}"
        raise BuildError(msg) from error


def _require_ours(root: Path) -> None:
    try:
        if root.exists() and any(root.iterdir()) and not (root / JOURNAL).is_file():
            msg = f"{root} is not empty and is no work directory of an earlier build"
            raise UsageError(msg, hint="--work-dir names a directory that is emptied first")
    except OSError as error:
        msg = f"{root}: cannot be built in: {error.strerror or error}"
        raise BuildError(msg) from error


def _key(journal: Journal) -> str | None:
    """Return of which inputs the last build was that worked here."""
    builds = [entry for entry in journal.read() if entry["event"] == "build"]
    key = builds[-1].get("key") if builds else None
    return key if isinstance(key, str) else None


def _change_places(root: Path, parked: Path, before: str | None, key: str) -> None:
    parked.mkdir(parents=True, exist_ok=True)
    if before is not None:
        aside = parked / before[:_SHORT]
        remove(aside)
        root.rename(aside)
    mine = parked / key[:_SHORT]
    if mine.is_dir():
        remove(root)
        mine.rename(root)


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")
