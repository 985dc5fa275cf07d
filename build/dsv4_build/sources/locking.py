"""Writing or checking the lock of a build that is not carried out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_build.planner import make_plan
from dsv4_build.progress import Progress
from dsv4_build.request import Surroundings
from dsv4_build.sources import lockdiff, supply
from dsv4_build.sources.prepare import prepare

if TYPE_CHECKING:
    from collections.abc import Callable

    from dsv4_build.plan import Plan
    from dsv4_build.request import BuildRequest
    from dsv4_doctor.snapshot import Snapshot


def write(request: BuildRequest, facts: Callable[[BuildRequest], Snapshot]) -> Plan:
    """Write the lock that a request names, or hold it against what would be built now.

    Args:
        facts: Takes those of this machine.

    Raises:
        UsageError: The request does not fit together.
        InputError: A source or the lock cannot be read.
        BuildError: Something cannot be had, or the lock does not match.
    """
    show = Progress()
    wanted = prepare(request, show.say, "resolve")
    here, snapshot = Surroundings.here(), facts(wanted)
    plan = make_plan(wanted, snapshot, here)
    if supply.fill(plan, wanted, here, show):
        plan = make_plan(wanted, snapshot, here)
    plan.supply.require(supply.pulled_as(plan))
    lockdiff.settle(plan, wanted, show.say)
    return plan
