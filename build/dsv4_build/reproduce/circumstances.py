"""What a build should not depend on: two sets of it, as different as this machine allows."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from dsv4_build.reproduce import disguise
from dsv4_build.reproduce.scratch import MEMORY

if TYPE_CHECKING:
    from pathlib import Path

Name: TypeAlias = Literal[
    "path", "user", "umask", "locale", "timezone", "time", "hostname", "cores", "order"
]

# Seconds: two years and a half ahead, on another day of the week.
AHEAD = 80_000_000


@dataclass(frozen=True)
class Circumstances:
    """One set.

    Attributes:
        base: Directory for everything that the build writes.
        user: Number of the user that the build believes to be; ``None`` for the caller's own.
        hostname: Name of the machine; ``None`` for its own.
        cpus: Processors that it may use, ``None`` for all.
        jobs: Compilers at a time.
        environ: Variables of the caller.
        imposed: Variables of the build's programs that no plan takes away.
    """

    base: str
    umask: int
    jobs: int
    user: int | None = None
    hostname: str | None = None
    cpus: tuple[int, ...] | None = None
    environ: dict[str, str] = field(default_factory=dict)
    imposed: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Variation:
    """One thing that both builds had different.

    Attributes:
        first: What the first build had, and so on.
        varied: Whether it was different indeed.
        note: Why not, or how.
    """

    name: Name
    first: str
    second: str
    varied: bool
    note: str = ""


def plain(base: Path, jobs: int) -> Circumstances:
    """Return the circumstances of the first build."""
    environ = {"LC_ALL": "C", "LANG": "C", "TZ": "UTC", "HOME": str(base / "home")}
    return Circumstances(str(base), umask=0o022, jobs=jobs, environ=environ)


def strange(base: Path, jobs: int, clock: str) -> Circumstances:
    """Return the circumstances of the second build.

    Args:
        clock: Library that shows programs another time; empty without one.
    """
    allowed = sorted(os.sched_getaffinity(0))
    refusal = disguise.refusal()
    return Circumstances(
        str(base),
        umask=0o077,
        jobs=1 if jobs > 1 else 2,
        user=4711 if refusal is None else None,
        hostname="another-machine" if refusal is None else None,
        cpus=tuple(allowed[-1:]) if len(allowed) > 1 else None,
        environ={
            "LC_ALL": "tr_TR.UTF-8",  # Where i and I are not the same letter.
            "LANG": "tr_TR.UTF-8",
            "LANGUAGE": "tr",
            "TZ": "Pacific/Kiritimati",  # The other day.
            "HOME": str(base / "another" / "home"),
            "USER": "somebody",
            "LOGNAME": "somebody",
        },
        imposed={"LD_PRELOAD": clock, "ANOTHER_TIME": str(AHEAD)} if clock else {},
    )


def variations(
    first: Circumstances, second: Circumstances, *, seconds: float, reordered: bool, fixed: bool
) -> tuple[Variation, ...]:
    """Return what was different between two builds, and what could not be.

    Args:
        seconds: How long after the first the second one began.
        reordered: Whether the same directory was listed in another order.
        fixed: Whether both were at the one place that all builds share.
    """
    refusal = disguise.refusal() or ""
    zones = (first.environ["TZ"], second.environ["TZ"])
    return (
        Variation(
            "path",
            first.base,
            second.base,
            varied=not fixed,
            note="both at the one place that gives them the same path" if fixed else "",
        ),
        Variation(
            "user",
            str(os.geteuid()),
            str(second.user if second.user is not None else os.geteuid()),
            varied=second.user is not None,
            note=refusal or "the same user under another number, and another home",
        ),
        Variation("umask", f"{first.umask:04o}", f"{second.umask:04o}", varied=True),
        Variation("locale", first.environ["LC_ALL"], second.environ["LC_ALL"], varied=True),
        Variation("timezone", *zones, varied=True),
        _time(second, seconds),
        Variation(
            "hostname",
            os.uname().nodename,
            second.hostname or os.uname().nodename,
            varied=second.hostname is not None,
            note=refusal,
        ),
        _cores(first, second),
        Variation(
            "order",
            "as the disk lists files",
            "as memory lists them" if reordered else "the same",
            varied=reordered,
            note="" if reordered else f"{MEMORY} has no room, or lists them in the same order",
        ),
    )


def _time(second: Circumstances, seconds: float) -> Variation:
    later = f"{seconds:.0f} s later"
    if second.imposed:
        note = "the clock that programs of the build read; times of files stay real"
        return Variation("time", "now", f"{later}, {AHEAD} s ahead", varied=True, note=note)
    note = "no library could be compiled that shows another time; only real time passed"
    return Variation("time", "now", later, varied=False, note=note)


def _cores(first: Circumstances, second: Circumstances) -> Variation:
    count = len(os.sched_getaffinity(0))
    used = len(second.cpus) if second.cpus is not None else count
    return Variation(
        "cores",
        f"{count}, {first.jobs} jobs",
        f"{used}, {second.jobs} jobs",
        varied=used != count,
        note="" if used != count else "there is only one; the jobs differ all the same",
    )
