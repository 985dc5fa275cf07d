"""A dashboard for Grafana, from the same signals and rules."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dsv4_doctor.knowledge import metrics as knowledge
from dsv4_doctor.watch.exporter import ALERT, PREFIX

if TYPE_CHECKING:
    from dsv4_doctor.knowledge.metrics import Signal

# https://grafana.com/docs/grafana/latest/visualizations/dashboards/build-dashboards/view-dashboard-json-model/
_SCHEMA_VERSION = 39
_WIDTH, _HEIGHT, _COLUMNS = 8, 7, 3
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}


def render() -> str:
    """Return the dashboard as JSON, to be imported as it is."""
    signals = [each for each in knowledge.signals().values() if each.unit != "bool"]
    panels = [_alerts(), *(_panel(at, each) for at, each in enumerate(signals))]
    document = {
        "uid": "dsv4-doctor-watch",
        "title": "vLLM and its GPUs (dsv4-doctor watch)",
        "tags": ["vllm", "dsv4-doctor"],
        "schemaVersion": _SCHEMA_VERSION,
        "version": 1,
        "editable": True,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "",
        "templating": {"list": [_datasource(), _server()]},
        "annotations": {"list": []},
        "panels": panels,
    }
    return json.dumps(document, indent=2) + "\n"


def _datasource() -> dict[str, Any]:
    return {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Source"}


def _server() -> dict[str, Any]:
    return {
        "name": "server",
        "label": "Server",
        "type": "query",
        "datasource": _SOURCE,
        "query": f"label_values({PREFIX}up, server)",
        "refresh": 2,
        "includeAll": True,
        "multi": True,
    }


def _alerts() -> dict[str, Any]:
    return {
        "id": 1,
        "type": "table",
        "title": "Raised now",
        "datasource": _SOURCE,
        "gridPos": {"x": 0, "y": 0, "w": _WIDTH * _COLUMNS, "h": 5},
        "fieldConfig": {"defaults": {}, "overrides": []},
        "options": {},
        "targets": [_target(f'{ALERT}{{server=~"$server"}} == 1', "{{id}}", instant=True)],
    }


def _panel(at: int, signal: Signal) -> dict[str, Any]:
    defaults: dict[str, Any] = {"unit": signal.unit, "min": 0}
    if signal.most is not None:
        defaults["max"] = signal.most
    steps = _steps(signal.id)
    if len(steps) > 1:
        defaults["thresholds"] = {"mode": "absolute", "steps": steps}
        defaults["custom"] = {"thresholdsStyle": {"mode": "line"}}
    row, column = divmod(at, _COLUMNS)
    return {
        "id": at + 2,
        "type": "timeseries",
        "title": signal.title,
        "datasource": _SOURCE,
        "gridPos": {
            "x": column * _WIDTH,
            "y": 5 + row * _HEIGHT,
            "w": _WIDTH,
            "h": _HEIGHT,
        },
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": {},
        "targets": [_target(f'{PREFIX}{signal.id}{{server=~"$server"}}', "{{server}}")],
    }


def _steps(signal: str) -> list[dict[str, Any]]:
    """The thresholds of the rules on a signal, as Grafana draws them."""
    lines = sorted(
        each.above if each.above is not None else each.below or 0.0
        for each in knowledge.rules()
        if each.signal == signal and each.step is None
    )
    return [{"color": "green", "value": None}, *({"color": "red", "value": each} for each in lines)]


def _target(expression: str, legend: str, *, instant: bool = False) -> dict[str, Any]:
    found: dict[str, Any] = {
        "refId": "A",
        "datasource": _SOURCE,
        "expr": expression,
        "legendFormat": legend,
    }
    return {**found, "instant": True, "range": False, "format": "table"} if instant else found
