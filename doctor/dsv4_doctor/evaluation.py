"""From the facts of one machine and a target to a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor import __version__
from dsv4_doctor.checks.registry import Check, Context, all_checks, run_checks
from dsv4_doctor.report import Report

if TYPE_CHECKING:
    from dsv4_doctor.checks.choice import Choice
    from dsv4_doctor.knowledge.model import Release
    from dsv4_doctor.snapshot import Snapshot
    from dsv4_doctor.target import Target


def evaluate(
    snapshot: Snapshot,
    target: Target,
    release: Release,
    notes: tuple[str, ...] = (),
    choice: Choice | None = None,
) -> Report:
    """Run the checks over a snapshot.

    Args:
        snapshot: Facts, of this machine or a stored one.
        target: What the machine is held against.
        release: The requirements of the target's release.
        notes: What a reader should know of how the target came about.
        choice: Which checks are asked for, all of them without.
    """
    return Report(
        tool_version=__version__,
        hostname=snapshot.host.hostname if snapshot.host is not None else "",
        taken_at=snapshot.taken_at,
        target=target,
        findings=run_checks(
            Context(snapshot, target, release), applicable(snapshot, all_checks()), choice
        ),
        notes=(*snapshot.origin, *notes),
    )


def applicable(snapshot: Snapshot, checks: tuple[Check, ...]) -> tuple[Check, ...]:
    """Return the checks that apply: to a machine of a foreign kind only the one that says so."""
    if not snapshot.foreign:
        return checks
    return tuple(each for each in checks if each.id == "host.platform.target")
