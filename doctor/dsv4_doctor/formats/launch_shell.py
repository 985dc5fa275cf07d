"""A plan of a start as lines for a shell."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dsv4_doctor.launch.plan import Plan


def render(plan: Plan) -> str:
    """Return a script that starts the server, or comments that say why there is none."""
    if not plan.fits:
        return f"#!/bin/sh\n{refusal(plan)}exit 1\n"
    head = f"# vLLM {plan.release}, {plan.gpus.used} x {plan.gpus.name}, for {plan.goal}"
    return "\n".join(["#!/bin/sh", _comment(head), *lines(plan, prefix="exec "), ""])


def refusal(plan: Plan) -> str:
    """Return why there is no command, as comments."""
    return "".join(f"# {_comment(each)}\n" for each in plan.obstacles)


def lines(plan: Plan, prefix: str = "") -> list[str]:
    """Return the command, one parameter a line."""
    first = [prefix + shlex.join(plan.argv[:3])]
    rest = [f"  {shlex.join(each.words)}" for each in plan.parameters]
    written = first + rest
    return [f"{each} \\" for each in written[:-1]] + written[-1:]


def _comment(text: str) -> str:
    return " ".join(text.split())
