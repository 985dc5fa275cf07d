"""What articles recommend, each for this release: the parameter that does it, or what does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.knowledge import launch as knowledge
from dsv4_doctor.launch.plan import Advised

if TYPE_CHECKING:
    from dsv4_doctor.launch.choose import Goal
    from dsv4_doctor.launch.machine import Machine
    from dsv4_doctor.launch.parameters import Command


def advised(command: Command, machine: Machine, goal: Goal) -> tuple[Advised, ...]:
    """Return every recommendation with its verdict for this command."""
    given = {each.flag for each in command.parameters}
    found = []
    for each in knowledge.advice():
        flag = next((one for one in each.flags if _works(command, one)), "")
        verdict = "given" if flag in given else each.verdict
        if verdict in {"choice", "default"} and each.flags and not flag:
            verdict = "none"
        text = each.text.format(
            release=command.release,
            goal=goal,
            filesystem=_filesystem(machine),
        )
        found.append(Advised(each.id, each.claim, verdict, flag, text, str(each.place)))
    return tuple(found)


def _works(command: Command, flag: str) -> bool:
    known = command.flags.get(flag)
    return known is not None and known.status != "ignored"


def _filesystem(machine: Machine) -> str:
    return (machine.storage.filesystem if machine.storage else "") or "an unknown file system"
