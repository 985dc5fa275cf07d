"""The metrics of vLLM that ``watch`` reads, by what they are called in which releases."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from dsv4_doctor.knowledge.places import place
from dsv4_doctor.resources import files

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsv4_doctor.knowledge.places import Place

Level = Literal["critical", "warning", "info"]


@dataclass(frozen=True)
class Name:
    """What a metric is called in some releases; ``releases`` as in the tables over releases."""

    name: str
    releases: str
    place: Place


@dataclass(frozen=True)
class Metric:
    """One quantity of a server.

    Attributes:
        kind: ``counter`` and ``histogram`` grow; of a histogram sum and count are read.
        over: How those of several engines become one.
        names: The newest first.
    """

    id: str
    what: str
    unit: str
    kind: Literal["gauge", "counter", "histogram"]
    over: Literal["sum", "max"]
    names: tuple[Name, ...]


@dataclass(frozen=True)
class Signal:
    """A quantity that rules and panels are about, made from metrics and from NVML.

    Attributes:
        unit: Grafana's name of it.
        most: The largest value that can be; ``None`` where there is none.
    """

    id: str
    title: str
    unit: str
    most: float | None


@dataclass(frozen=True)
class Bound:
    """A side condition of a rule: another signal above or below a value."""

    signal: str
    above: float | None
    below: float | None


@dataclass(frozen=True)
class WatchRule:
    """When to say something.

    Attributes:
        above: Raised above this value.
        below: Raised below this value.
        step: Raised when the value is so much above (or below, when negative) its mean over
            ``seconds`` before.
        clear: Taken back on the other side of this value; for a step, when the difference is
            smaller than this.
        seconds: How long it must hold; for a step, the window of the mean.
        also: What must hold besides.
        says: What is told, with ``{value}``.
        origin: Where the thresholds are from.
    """

    id: str
    signal: str
    level: Level
    above: float | None
    below: float | None
    step: float | None
    clear: float
    seconds: float
    also: tuple[Bound, ...]
    says: str
    do: str
    origin: Place


@dataclass(frozen=True)
class LogLine:
    """A line of the server's log that tells which attention backend is used."""

    pattern: str
    backend: str
    releases: str
    place: Place


@cache
def _read(name: str) -> Mapping[str, Any]:
    content: Mapping[str, Any] = json.loads(
        files(__package__).joinpath(name).read_text(encoding="utf-8")
    )
    return content


@cache
def metrics() -> tuple[Metric, ...]:
    """Return the metrics that are read."""
    return tuple(
        Metric(
            each["id"],
            each["what"],
            each["unit"],
            each["kind"],
            each["over"],
            tuple(Name(n["name"], n["in"], place(n["at"], "vllm", "")) for n in each["names"]),
        )
        for each in _read("metrics.json")["metrics"]
    )


@cache
def info_metric() -> str:
    """Return the name of the metric whose labels are the settings of the cache."""
    name: str = _read("metrics.json")["info"]["name"]
    return name


@cache
def signals() -> dict[str, Signal]:
    """Return the quantities that rules and panels are about."""
    return {
        each["id"]: Signal(each["id"], each["title"], each["unit"], each.get("most"))
        for each in _read("watch.json")["signals"]
    }


@cache
def rules() -> tuple[WatchRule, ...]:
    """Return the rules."""
    return tuple(
        WatchRule(
            id=each["id"],
            signal=each["signal"],
            level=each["level"],
            above=each.get("above"),
            below=each.get("below"),
            step=each.get("step"),
            clear=each["clear"],
            seconds=each["seconds"],
            also=tuple(
                Bound(one["signal"], one.get("above"), one.get("below"))
                for one in each.get("also", ())
            ),
            says=each["says"],
            do=each["do"],
            origin=place(each["at"], "vllm", ""),
        )
        for each in _read("watch.json")["rules"]
    )


@cache
def log_lines() -> tuple[LogLine, ...]:
    """Return the lines of the server's log that tell the attention backend."""
    return tuple(
        LogLine(each["pattern"], each["backend"], each["in"], place(each["at"], "vllm", ""))
        for each in _read("watch.json")["log"]
    )
