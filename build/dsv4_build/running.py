"""A plan while it is carried out: its steps, announced and written to the journal."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dsv4_build.handover import seal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from dsv4_build.plan import Plan
    from dsv4_build.process import Usage
    from dsv4_build.progress import Progress
    from dsv4_build.reporting.keep import Account
    from dsv4_build.work import Workspace

_GIB = 1 << 30


@dataclass(frozen=True)
class Run:
    """A plan while it is carried out."""

    plan: Plan
    work: Workspace
    show: Progress
    account: Account
    cache: Path
    usage: dict[str, list[Usage]] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)
    began: str = field(default_factory=seal.now)

    @contextmanager
    def step(self, name: str, outputs: Sequence[Path] = ()) -> Iterator[list[Usage]]:
        """Announce a step and write it to the journal when it begins and ends.

        Args:
            outputs: What it makes in the work directory, for :meth:`keep`.
        """
        step = self.plan.step(name)
        usage = self.usage.setdefault(name, [])
        with self.work.step(step, usage, outputs):
            self.show.step(name, step.title)
            yield usage
        if usage:
            self.show.say(_spent(usage))

    def keep(self, name: str, outputs: Sequence[Path]) -> bool:
        """Whether a step need not be done again, and say so."""
        if not self.work.kept(self.plan.step(name), outputs):
            return False
        self.show.step(name, "kept: done before with the same inputs, and its bytes are the same")
        self.kept.append(name)
        return True


def _spent(usage: list[Usage]) -> str:
    wall = sum(each.seconds for each in usage)
    cpu = sum(each.cpu_seconds for each in usage)
    peak = max(each.peak_memory for each in usage)
    return f"{wall:.1f} s, {cpu:.1f} s of CPU, largest process {peak / _GIB:.2f} GiB"
