"""A plan as a POSIX shell script that a person reads before anybody runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.formats.plain import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dsv4_doctor.fix.steps import Step
    from dsv4_doctor.report import Command, Report


def render(report: Report, steps: Iterable[Step], *, sudo: bool) -> str:
    """Return the script.

    Args:
        report: What the steps come from.
        steps: In the order in which they are to be taken.
        sudo: Whether steps that need root are written with ``sudo``.
    """
    lines = [*_head(report)]
    number = 0
    for number, step in enumerate(steps, start=1):
        lines += ["", *_step(number, step, sudo)]
    if not number:
        lines += ["", "# There is nothing to do."]
    return "\n".join(lines) + "\n"


def _head(report: Report) -> Iterator[str]:
    target = report.target
    archs = ", ".join(target.archs) or "the GPUs found"
    yield "#!/bin/sh"
    yield _comment(
        f"Written by dsv4-doctor {report.tool_version} for {report.hostname or 'this machine'},"
        f" from facts of {report.taken_at}: vLLM {target.release}, {archs}, for {target.purpose}."
    )
    yield "# Nothing has been run. Read every line, take out what you do not want, and then run it"
    yield "# here. Variables hold in this script only: copy those lines into the shell that builds"
    yield "# or serves. `dsv4-doctor fix --apply` takes only the steps marked with *."
    yield "set -e"


def _step(number: int, step: Step, sudo: bool) -> Iterator[str]:
    mark = "*" if step.applicable else " "
    for finding in step.findings:
        yield _comment(f"{number:2}{mark} {finding.status} {finding.id}: {finding.title}")
    yield _comment(f"    {step.text}")
    if step.command is None:
        yield "#    This is for a person to do."
        return
    line = _line(step.command, sudo)
    if step.against:
        yield _comment(f"    Not together with an earlier step, which sets {step.against}:")
        yield _comment(f"    {line}")
    elif not step.plain:
        yield "#    Not written as a command, because there are control characters in it:"
        yield _comment(f"    {line}")
    else:
        yield line
    for other in step.others:
        yield _comment(f"    or: {_line(other, sudo)}")


def _line(command: Command, sudo: bool) -> str:
    return command.shell(sudo=sudo)


def _comment(text: str) -> str:
    return f"# {one_line(text)}".rstrip()
