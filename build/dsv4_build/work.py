"""The directory that a build works in, and the journal of what was done there."""

from __future__ import annotations

import json
import shutil
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from dsv4_build.cache import locked
from dsv4_doctor.errors import BuildError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dsv4_build.plan import Step
    from dsv4_build.process import Usage

JOURNAL = "journal.jsonl"


@dataclass(frozen=True)
class Workspace:
    """A locked, empty work directory.

    Attributes:
        root: Where everything is.
    """

    root: Path

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
    def result(self) -> Path:
        """What was built, before it is proved."""
        return self.root / "result"

    @property
    def log(self) -> Path:
        """The output of every child."""
        return self.root / "build.log"

    @contextmanager
    def step(self, step: Step, usage: list[Usage]) -> Iterator[None]:
        """Write a line to the journal when a step ends, however it ends.

        Args:
            usage: Filled by the step with what its children took.
        """
        started = _now()
        outcome, detail = "failed", ""
        try:
            yield
            outcome = "done"
        except KeyboardInterrupt:
            outcome = "interrupted"
            raise
        except Exception as error:
            detail = str(error)
            raise
        finally:
            self._write(
                step=step.name,
                key=step.key,
                start=started,
                end=_now(),
                outcome=outcome,
                detail=detail,
                usage=[asdict(each) for each in usage],
            )

    def _write(self, **entry: Any) -> None:
        with (self.root / JOURNAL).open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")


@contextmanager
def workspace(root: Path) -> Iterator[Workspace]:
    """Empty a work directory and hold it until the build is over.

    Raises:
        BuildError: Another build holds it, or it cannot be made.
        UsageError: It holds something that no build put there.
    """
    with locked(root.with_name(f".{root.name}.lock")):
        _empty(root)
        yield Workspace(root)


def _empty(root: Path) -> None:
    try:
        if root.exists():
            if any(root.iterdir()) and not (root / JOURNAL).is_file():
                msg = f"{root} is not empty and is no work directory of an earlier build"
                raise UsageError(msg, hint="--work-dir names a directory that is emptied first")
            shutil.rmtree(root)
        root.mkdir(parents=True)
        (root / JOURNAL).touch()
    except OSError as error:
        msg = f"{root}: cannot be emptied to build in: {error}"
        raise BuildError(msg) from error


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")
