"""Stopping before an hour is lost: what a failing check means for a build."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_build.estimating import room
from dsv4_doctor.checks.registry import all_checks
from dsv4_doctor.errors import BuildError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsv4_build.recipe import Recipe
    from dsv4_doctor.report import Finding, Report


def judge(report: Report, recipe: Recipe, force: Iterable[str]) -> tuple[Finding, ...]:
    """Return the failing findings that were overridden.

    Raises:
        BuildError: A finding that matters to this recipe fails and is not overridden.
        UsageError: What should be overridden is neither a finding of this report nor a check.
    """
    overridden = frozenset(force)
    # The same command goes on with a build of which less is left: it may find less, too.
    known = {finding.id for finding in report.findings} | {check.id for check in all_checks()}
    known |= {room.MEMORY, room.DISK}
    for identifier in sorted(overridden - known):
        failing = ", ".join(sorted(each.id for each in stopping(report, recipe))) or "none"
        msg = f"--force {identifier}: no finding of this preflight; failing: {failing}"
        raise UsageError(msg)
    failing_findings = stopping(report, recipe)
    blocking = [finding for finding in failing_findings if finding.id not in overridden]
    if blocking:
        number = f"{len(blocking)} check{'s' if len(blocking) > 1 else ''}"
        text = "\n".join(_described(finding) for finding in blocking)
        msg = f"preflight: {number} failed, nothing was built\n{text}"
        ids = " ".join(f"--force {each}" for each in dict.fromkeys(f.id for f in blocking))
        raise BuildError(msg, hint=f"to build all the same: {ids}")
    return tuple(finding for finding in failing_findings if finding.id in overridden)


def stopping(report: Report, recipe: Recipe) -> tuple[Finding, ...]:
    """Return the failing findings that matter to a recipe."""
    return tuple(
        finding
        for finding in report.findings
        if finding.status == "fail" and recipe.stops(finding.id)
    )


def _described(finding: Finding) -> str:
    lines = [f"  {finding.id}: {finding.title}"]
    if finding.found or finding.expected:
        lines.append(f"    found {finding.found or 'nothing'}, expected {finding.expected}")
    if finding.remedy is not None:
        lines.append(f"    {finding.remedy.text}")
        lines += [f"    $ {command.shell()}" for command in finding.remedy.commands]
    return "\n".join(lines)
