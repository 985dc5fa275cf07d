"""One look at a server and its GPUs, and what two looks together say."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsv4_doctor.facts.driver import Xid
    from dsv4_doctor.facts.gpu import Gpu
    from dsv4_doctor.watch.exposition import Page

# A link that is slow while nothing runs is normal; from this utilisation on it is under load.
UNDER_LOAD = 50


@dataclass(frozen=True)
class Look:
    """What was read at one moment.

    Attributes:
        at: Seconds of a clock that does not jump.
        page: ``None`` when the metrics could not be read.
        problem: Why not.
        gpus: As NVML has them; ``None`` when it was not asked or is not there.
        xids: GPU errors in the kernel's log; ``None`` when this user may not read it.
    """

    at: float
    page: Page | None
    problem: str = ""
    gpus: tuple[Gpu, ...] | None = None
    xids: tuple[Xid, ...] | None = None


@dataclass(frozen=True)
class Reading:
    """The signals of one moment.

    Attributes:
        at: Seconds of a clock that does not jump.
        signals: Those that could be told, by id.
        untold: Why others could not.
    """

    at: float
    signals: Mapping[str, float]
    untold: tuple[str, ...] = field(default=())


def reading(look: Look, before: Look | None, first_xids: tuple[Xid, ...] | None = None) -> Reading:
    """Return the signals of a look.

    Args:
        look: The look.
        before: The one before it; without one there are no rates.
        first_xids: The Xid errors that there were when the watch began.
    """
    signals: dict[str, float] = {"up": 0.0 if look.page is None else 1.0}
    untold: list[str] = [f"metrics: {look.problem}"] if look.problem else []
    if look.page is not None:
        untold += look.page.doubts
        if before is not None and before.page is not None:
            untold += _changed(look.page, before.page)
        for name in ("running", "waiting", "kv_usage"):
            if name in look.page.values:
                signals[name] = look.page.values[name]
        signals |= _rates(look, before, untold)
        if "prefix_hit_rate" not in signals and "prefix_rate" in look.page.values:
            signals["prefix_hit_rate"] = look.page.values["prefix_rate"]
    signals |= _of_gpus(look.gpus)
    if look.xids is not None and first_xids is not None:
        signals["xids"] = float(sum(each.count for each in new_xids(look.xids, first_xids)))
    return Reading(look.at, signals, tuple(untold))


def _changed(now: Page, then: Page) -> list[str]:
    """Say what of a server may not change between two looks, and did."""
    if now.models == then.models:
        return []
    was, name = ", ".join(then.models) or "none", ", ".join(now.models) or "none"
    return [
        f"the models changed from {was} to {name}: they were swapped, or another server answers"
    ]


def new_xids(now: tuple[Xid, ...], first: tuple[Xid, ...]) -> tuple[Xid, ...]:
    """Return the errors that came since the watch began.

    The kernel's log is a ring: what fell out of it makes a number smaller, and is nothing new.
    """
    before = {(each.pci, each.code): each.count for each in first}
    more = ((each, each.count - before.get((each.pci, each.code), 0)) for each in now)
    return tuple(replace(each, count=count) for each, count in more if count > 0)


def _rates(look: Look, before: Look | None, untold: list[str]) -> dict[str, float]:
    """What needs two looks: how fast counters grew between them."""
    if before is None or before.page is None or look.page is None or look.at <= before.at:
        return {}
    now, then, seconds = look.page.values, before.page.values, look.at - before.at
    grown = {name: now[name] - then[name] for name in now if name in then}
    counters = ("prompt_tokens", "generation_tokens", "prefix_queries", "preemptions")
    if any(grown.get(name, 0) < 0 for name in counters):
        untold.append("counters went back: the server was started anew, or another one answers")
        return {}
    found = {}
    for name, signal in (
        ("preemptions", "preemption_rate"),
        ("prompt_tokens", "prompt_rate"),
        ("generation_tokens", "generation_rate"),
    ):
        if name in grown:
            found[signal] = grown[name] / seconds
    if grown.get("prefix_queries") and "prefix_hits" in grown:
        rate = grown["prefix_hits"] / grown["prefix_queries"]
        if 0 <= rate <= 1:
            found["prefix_hit_rate"] = rate
        else:
            untold.append(f"a hit rate of {rate:g} of the prefix cache cannot be; left out")
    if grown.get("first_token_seconds_count", 0) > 0 and grown["first_token_seconds_sum"] >= 0:
        found["first_token"] = grown["first_token_seconds_sum"] / grown["first_token_seconds_count"]
    return found


def _of_gpus(gpus: tuple[Gpu, ...] | None) -> dict[str, float]:
    if not gpus:
        return {}
    found = {
        "gpu_throttled": float(sum(bool(each.throttle) for each in gpus)),
        "gpu_link_narrow": float(sum(map(narrow, gpus))),
        "gpu_lost": float(sum(bool(each.error) for each in gpus)),
    }
    busy = [each.utilization for each in gpus if each.utilization is not None]
    if busy:
        found["gpu_utilization"] = sum(busy) / len(busy)
    full = [
        each.memory_used / each.memory
        for each in gpus
        if each.memory_used is not None and each.memory
    ]
    if full:
        found["gpu_memory"] = max(full)
    return found


def narrow(gpu: Gpu) -> bool:
    """Whether a GPU under load has fewer lanes or a lower generation of PCIe than it could."""
    if (gpu.utilization or 0) < UNDER_LOAD:
        return False
    pairs = (
        (gpu.link_width, gpu.link_width_max),
        (gpu.link_generation, gpu.link_generation_max),
    )
    return any(now is not None and most is not None and now < most for now, most in pairs)
