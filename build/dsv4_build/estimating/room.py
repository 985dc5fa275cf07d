"""Whether the machine has memory and disk for a plan, said before anything is begun."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dsv4_doctor.report import Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_build.estimating.disk import Disk
    from dsv4_build.estimating.estimate import Estimate
    from dsv4_build.plan import Plan
    from dsv4_doctor.report import Report, Status

MEMORY = "build.room.memory"
DISK = "build.room.disk"

_GIB = 1 << 30


def findings(plan: Plan, found: Estimate) -> tuple[Finding, ...]:
    """Return what is to be said of memory and disk.

    A failure is what no order of the units could get around: the largest of them does not fit, or
    the disk is full before the first is compiled. A warning is what only may become short.
    """
    return (*_memory(plan, found), *_disks(found))


def added(report: Report, plan: Plan, found: Estimate) -> Report:
    """Return a report of the preflight with what is to be said of memory and disk."""
    return replace(report, findings=(*report.findings, *findings(plan, found)))


def warnings(report: Report) -> tuple[Finding, ...]:
    """Return what may become short."""
    ours = (each for each in report.findings if each.id in {MEMORY, DISK})
    return tuple(each for each in ours if each.status == "warn")


def _memory(plan: Plan, found: Estimate) -> Iterator[Finding]:
    host, resources, unit = plan.facts.host, plan.facts.resources, found.largest
    if host is None or host.memory_available is None or unit is None:
        return
    swap = (resources.swap or 0) if resources is not None else 0
    have = host.memory_available + swap
    tight = unit.peak > have
    total = f" of {host.memory / _GIB:.1f}" if host.memory is not None else ""
    spare = f"{host.memory_available / _GIB:.1f}{total} GiB of memory"
    spare += f" and {swap / _GIB:.1f} GiB of swap" if swap else ""
    yield Finding(
        MEMORY,
        "fail" if tight else "pass",
        f"{unit.name} needs about {unit.peak / _GIB:.1f} GiB, and {spare} can be had",
        found=spare,
        expected=f"at least {unit.peak / _GIB:.1f} GiB for the largest unit alone",
        evidence=(
            Evidence(f"{unit.peak} bytes", f"{unit.name}, {_BASES[unit.basis]}"),
            Evidence(f"{host.memory_available} bytes", "MemAvailable and limits of the cgroup"),
        ),
        remedy=Remedy(
            "end other programs, raise the container's limit or add swap; --only builds parts"
        )
        if tight
        else None,
    )


def _disks(found: Estimate) -> Iterator[Finding]:
    known = [each for each in found.disk if each.free is not None]
    for device in dict.fromkeys(each.device for each in known):
        yield _disk([each for each in known if each.device == device])


def _disk(uses: list[Disk]) -> Finding:
    free = uses[0].free or 0
    least, total = sum(each.least for each in uses), sum(each.bytes for each in uses)
    status: Status = "fail" if free < least else "warn" if free < total else "pass"
    what = " and ".join(each.what for each in uses)
    need = f"{(least if status == 'fail' else total) / _GIB:.2f} GiB"
    before = ", before the first unit is compiled" if status == "fail" else ""
    return Finding(
        DISK,
        status,
        f"{what} need about {need}{before}, and {free / _GIB:.2f} GiB are free",
        found=f"{free / _GIB:.2f} GiB on the file system of {uses[0].path}",
        expected=f"{total / _GIB:.2f} GiB",
        evidence=tuple(Evidence(f"{each.bytes} bytes in {each.path}", each.basis) for each in uses),
        remedy=None
        if status == "pass"
        else Remedy(
            "free space, or --work-dir on another disk; XDG_CACHE_HOME moves toolkits, "
            "and --prune removes the work of earlier builds"
        ),
    )


_BASES = {
    "learned": "learned on this machine",
    "measured": "measured",
    "family": "the mean of its family's measured units",
}
