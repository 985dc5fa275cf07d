"""A page of metrics, read with the parser of prometheus-client and not believed blindly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dsv4_doctor.errors import UsageError
from dsv4_doctor.knowledge import metrics as knowledge
from dsv4_doctor.watch.scrape import ScrapeError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsv4_doctor.knowledge.metrics import Metric

# What the parser raises for a line that is none; it documents only ValueError.
_BAD = (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError)
_SUFFIXES = {"gauge": ("",), "counter": ("_total", ""), "histogram": ("_sum", "_count")}
_SAMPLES = 200_000


@dataclass(frozen=True)
class Page:
    """What a page of metrics says.

    Attributes:
        values: Of each metric of the knowledge that is there; of a histogram ``ID_sum`` and
            ``ID_count``.
        engines: How many engines it has values of.
        models: Names of the models that it serves.
        info: Labels of the metric that tells the settings of the cache.
        doubts: Values that cannot be, each said in words; they are left out.
    """

    values: Mapping[str, float]
    engines: int
    models: tuple[str, ...]
    info: Mapping[str, str]
    doubts: tuple[str, ...]


def need_prometheus() -> None:
    """Make sure that prometheus-client is there.

    Raises:
        UsageError: It is not installed.
    """
    try:
        import prometheus_client  # noqa: F401, PLC0415 - an extra
    except ImportError as error:
        msg = "watch needs prometheus-client, which is not installed"
        raise UsageError(msg, hint="pip install 'dsv4-doctor[watch]'") from error


def read(body: bytes) -> Page:
    """Read a page of metrics.

    Raises:
        ScrapeError: It is no such page, or has nothing of vLLM in it.
    """
    samples = _samples(body)
    doubts: list[str] = []
    values: dict[str, float] = {}
    for metric in knowledge.metrics():
        for suffix in ("_sum", "_count") if metric.kind == "histogram" else ("",):
            found = _of(metric, suffix, samples, doubts)
            if found is not None:
                values[metric.id + suffix] = found
    every = [(name, labels) for name, entries in samples.items() for labels, _ in entries]
    ours = [labels for name, labels in every if name.startswith("vllm:")]
    if not ours:
        msg = "no metric of vLLM on this page"
        raise ScrapeError(msg)
    engines = {labels["engine"] for labels in ours if "engine" in labels}
    models = {labels["model_name"] for labels in ours if labels.get("model_name")}
    info = samples.get(knowledge.info_metric(), [({}, 1.0)])[0][0]
    return Page(values, max(len(engines), 1), tuple(sorted(models)), info, tuple(doubts))


def _samples(body: bytes) -> dict[str, list[tuple[dict[str, str], float]]]:
    from prometheus_client.parser import text_string_to_metric_families  # noqa: PLC0415

    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    text = body.decode("utf-8", "replace").replace("\r\n", "\n")
    count = 0
    try:
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                count += 1
                if count > _SAMPLES:
                    msg = f"more than {_SAMPLES} samples on one page"
                    raise ScrapeError(msg)
                found.setdefault(sample.name, []).append((dict(sample.labels), sample.value))
    except _BAD as error:
        msg = f"no page of metrics: {str(error)[:200] or type(error).__name__}"
        raise ScrapeError(msg) from error
    return found


def _of(
    metric: Metric,
    suffix: str,
    samples: Mapping[str, list[tuple[dict[str, str], float]]],
    doubts: list[str],
) -> float | None:
    """The value of a metric over all engines, by the first of its names that is there."""
    ends = (suffix,) if suffix else _SUFFIXES[metric.kind]
    for name in metric.names:
        for end in ends:
            there = samples.get(name.name + end)
            if there is None:
                continue
            good = [value for _, value in there if _can_be(metric, value)]
            if len(good) < len(there):
                bad = next(value for _, value in there if not _can_be(metric, value))
                doubts.append(f"{name.name}{end} says {bad:g}, which cannot be; left out")
            if good:
                return max(good) if metric.over == "max" else math.fsum(good)
            return None
    return None


def _can_be(metric: Metric, value: float) -> bool:
    if not math.isfinite(value) or value < 0:
        return False
    return metric.unit != "ratio" or value <= 1
