"""How bad a finding is, where that depends on what the machine is for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dsv4_doctor.report import Status
    from dsv4_doctor.target import Purpose, Target


def missing_for_serving(target: Target) -> Status:
    """How bad it is when something is missing that only a server needs.

    ``all`` is what somebody asks who has not said which of the two this machine is for, so it
    warns where ``serve`` fails; for ``build`` there is nothing to say.
    """
    severity: dict[Purpose, Status] = {"serve": "fail", "all": "warn", "build": "skip"}
    return severity[target.purpose]


def serving_fault(target: Target) -> Status:
    """How bad a fault is that is certain, and that only a server runs into."""
    return "fail" if target.serves else "warn"
