"""Alert rules for Prometheus, from the same rules as the watch's own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dsv4_doctor.knowledge import metrics as knowledge
from dsv4_doctor.watch.exporter import AGE, PREFIX

if TYPE_CHECKING:
    from dsv4_doctor.knowledge.metrics import Bound, WatchRule

# Seconds, a dozen of the default intervals.
_STALE = 60
_SEVERITY = {"critical": "critical", "warning": "warning", "info": "info"}


def render() -> str:
    """Return a file of rules. It is YAML in the form of JSON, which Prometheus reads, too."""
    rules = [*map(_rule, knowledge.rules()), _stale()]
    group = {"name": "dsv4-doctor-watch", "rules": rules}
    return json.dumps({"groups": [group]}, indent=2) + "\n"


def alert_name(rule: WatchRule) -> str:
    """Return the name of an alert, such as ``WatchKvCacheFull``."""
    words = rule.id.replace(".", "-").split("-")
    return "".join(each.capitalize() for each in words)


def _rule(rule: WatchRule) -> dict[str, Any]:
    wait = 0 if rule.step is not None else int(rule.seconds)
    return {
        "alert": alert_name(rule),
        "expr": expression(rule),
        "for": f"{wait}s",
        "labels": {"severity": _SEVERITY[rule.level]},
        "annotations": {
            "summary": rule.says.replace("{value}", "{{ $value }}"),
            "description": rule.do,
            "origin": str(rule.origin),
        },
    }


def _stale() -> dict[str, Any]:
    """The rule that no watch has of itself: that it does not look any more."""
    return {
        "alert": "WatchStale",
        "expr": f"time() - {AGE} > {_STALE}",
        "for": "0s",
        "labels": {"severity": "warning"},
        "annotations": {
            "summary": "the watch has not looked for {{ $value }} seconds",
            "description": "look whether `dsv4-doctor watch` runs; its --interval must be shorter",
        },
    }


def expression(rule: WatchRule) -> str:
    """Return the condition in PromQL, with the hysteresis of the watch.

    An alert that fires keeps firing until the value is on the other side of the threshold at which
    the watch takes it back.
    """
    name = PREFIX + rule.signal
    firing = f'ALERTS{{alertname="{alert_name(rule)}",alertstate="firing"}}'
    if rule.step is not None:
        mean = f"avg_over_time({name}[{int(rule.seconds)}s])"
        difference = f"{name} - {mean}"
        sign = ">=" if rule.step > 0 else "<="
        raised = f"{difference} {sign} {rule.step:g}"
        kept = f"abs({difference}) >= {rule.clear:g}"
    elif rule.above is not None:
        raised, kept = f"{name} > {rule.above:g}", f"{name} > {rule.clear:g}"
    else:
        raised, kept = f"{name} < {rule.below:g}", f"{name} < {rule.clear:g}"
    also = "".join(f" and on (server) {_bound(each)}" for each in rule.also)
    return f"(({raised}){also}) or (({kept}) and on (server) {firing})"


def _bound(bound: Bound) -> str:
    sign, value = (">", bound.above) if bound.above is not None else ("<", bound.below)
    return f"({PREFIX}{bound.signal} {sign} {value:g})"
