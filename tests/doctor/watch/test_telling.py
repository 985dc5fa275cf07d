"""Who is told: a webhook, a command, Prometheus, Grafana; and the log that tells the backend."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import threading
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.doctor.watch.raw_server import serving

from dsv4_doctor.errors import InputError, UsageError
from dsv4_doctor.knowledge import metrics as knowledge
from dsv4_doctor.watch import alerts, backend, dashboard, exporter, notify, warmup
from dsv4_doctor.watch.judging import Event, Judge
from dsv4_doctor.watch.sample import Look, Reading
from dsv4_doctor.watch.scrape import address, get
from dsv4_doctor.watch.watcher import Moment
from fake_vllm_server import FakeVllm

EVENT = Event(
    "watch.kv-cache.full", "raised", "critical", "kv_usage", 0.97, "it is full", "look", "x 1"
)
PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(
    PROMTOOL is None, reason="promtool of the Debian package prometheus is not installed"
)


def test_a_webhook_gets_the_event_as_json() -> None:
    with FakeVllm() as fake:
        tell = notify.webhook(f"{fake.url}/hook", "server:1")
        assert tell(EVENT) == ""
    (seen,) = fake.seen
    assert seen["server"] == "server:1"
    assert (seen["id"], seen["kind"], seen["value"]) == ("watch.kv-cache.full", "raised", 0.97)


def refuses(connection: socket.socket, _done: threading.Event) -> None:
    connection.sendall(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")


def stalls(_connection: socket.socket, done: threading.Event) -> None:
    done.wait()


@pytest.mark.parametrize(
    ("behave", "limit", "said"),
    [(refuses, 30, "HTTP status 500"), (stalls, 0.2, "no whole answer within 0.2 s")],
)
def test_a_webhook_that_does_not_take_it_is_said(behave: Any, limit: float, said: str) -> None:
    with serving(behave) as place:
        found = notify.webhook(f"{place}/secret", "s", limit)(EVENT)
    assert found == f"http://{place}: {said}"


def test_a_command_gets_the_event_in_its_environment(tmp_path: Path) -> None:
    out = tmp_path / "out"
    script = tmp_path / "tell it"
    script.write_text(f'#!/bin/sh\nenv | grep ^DSV4_EVENT_ > "{out}"\n')
    script.chmod(0o755)
    assert notify.command(f"'{script}' ; ignored", "server:1")(EVENT) == ""
    env = dict(line.split("=", 1) for line in out.read_text().splitlines())
    assert env["DSV4_EVENT_ID"] == "watch.kv-cache.full"
    assert env["DSV4_EVENT_VALUE"] == "0.97"
    assert env["DSV4_EVENT_SERVER"] == "server:1"


def test_no_shell_reads_the_command(tmp_path: Path) -> None:
    assert notify.command(f"echo x > {tmp_path}/made", "s")(EVENT) == ""
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("text", "limit", "said"),
    [
        ("false", 30, "false: exit status 1"),
        ("no-such-program", 30, "No such file"),
        ("sleep 60", 0.2, "no answer within 0.2 s"),
    ],
)
def test_a_command_that_fails_is_said(text: str, limit: float, said: str) -> None:
    assert said in notify.command(text, "s", limit)(EVENT)


@pytest.mark.parametrize("text", ["", "  ", "'open"])
def test_a_command_that_is_none(text: str) -> None:
    with pytest.raises(UsageError):
        notify.command(text, "s")


def moment(**signals: float) -> Moment:
    judge = Judge(patient=False)
    taken = Reading(1.0, signals)
    events = judge.take(taken)
    return Moment(Look(1.0, None), taken, events, judge.raised)


def test_prometheus_can_read_the_exporter() -> None:
    collector = exporter.Exporter("server:1")
    server, port = exporter.serve(collector, "127.0.0.1", 0)
    try:
        empty = get(address(f"127.0.0.1:{port}", "/metrics")).body.decode()
        assert "dsv4_watch_" not in empty
        collector.take(moment(up=1, kv_usage=0.97), 1000.0)
        text = get(address(f"127.0.0.1:{port}", "/metrics")).body.decode()
    finally:
        server.shutdown()
        server.server_close()
    samples = {
        (sample.name, sample.labels.get("id", "")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.labels["server"] == "server:1"
    }
    assert samples["dsv4_watch_kv_usage", ""] == 0.97
    assert samples["dsv4_watch_alert", "watch.kv-cache.full"] == 1
    assert samples["dsv4_watch_alert", "watch.server.down"] == 0
    assert samples["dsv4_watch_last_look_timestamp_seconds", ""] == 1000
    assert ("dsv4_watch_gpu_utilization", "") not in samples


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("9400", ("127.0.0.1", 9400)),
        ("0.0.0.0:9400", ("0.0.0.0", 9400)),
        ("[::]:1", ("::", 1)),
    ],
)
def test_places_to_listen(text: str, expected: tuple[str, int]) -> None:
    assert exporter.place(text) == expected


@pytest.mark.parametrize("text", ["", "host", "host:x", "1:99999"])
def test_what_is_no_place(text: str) -> None:
    with pytest.raises(UsageError, match="no place to listen"):
        exporter.place(text)


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"cannot listen on 127.0.0.1:{port}"):
            exporter.serve(exporter.Exporter("s"), "127.0.0.1", port)


def promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROMTOOL or "", *arguments], capture_output=True, text=True, check=False, timeout=60
    )


@needs_promtool
def test_promtool_takes_the_alert_rules(tmp_path: Path) -> None:
    (tmp_path / "rules.yml").write_text(alerts.render())
    done = promtool("check", "rules", str(tmp_path / "rules.yml"))
    assert done.returncode == 0, done.stderr
    assert f"{len(knowledge.rules()) + 1} rules found" in done.stdout


def series(signal: str, values: str) -> dict[str, str]:
    return {"series": f'dsv4_watch_{signal}{{server="s"}}', "values": values}


def firing(rule: str, at: str, *, does: bool) -> dict[str, Any]:
    (known,) = [each for each in knowledge.rules() if each.id == rule]
    labels = {"severity": known.level, "server": "s"}
    return {
        "eval_time": at,
        "alertname": alerts.alert_name(known),
        "exp_alerts": [{"exp_labels": labels}] if does else [],
    }


KV, SCALE, DOWN = "watch.kv-cache.full", "watch.queue.scale-out", "watch.utilization.step-down"


@needs_promtool
def test_the_alert_rules_fire_as_the_watch_does(tmp_path: Path) -> None:
    rules = json.loads(alerts.render())
    for each in rules["groups"][0]["rules"]:
        # They have the value in them, and promtool compares them letter by letter.
        del each["annotations"]
    (tmp_path / "rules.yml").write_text(json.dumps(rules))
    # One value every five seconds.
    steady = "90x11 40x20"
    tests = {
        "rule_files": ["rules.yml"],
        "evaluation_interval": "5s",
        "tests": [
            {
                "interval": "5s",
                "input_series": [series("kv_usage", "0.96+0x3 0.92+0x3 0.89+0x3")],
                "alert_rule_test": [
                    firing(KV, "5s", does=False),
                    firing(KV, "15s", does=True),
                    firing(KV, "30s", does=True),
                    firing(KV, "45s", does=False),
                ],
            },
            {
                "interval": "5s",
                "input_series": [series("last_look_timestamp_seconds", "10+0x40")],
                "alert_rule_test": [
                    {"eval_time": "70s", "alertname": "WatchStale", "exp_alerts": []},
                    {
                        "eval_time": "75s",
                        "alertname": "WatchStale",
                        "exp_alerts": [{"exp_labels": {"severity": "warning", "server": "s"}}],
                    },
                ],
            },
            {
                "interval": "5s",
                "input_series": [series("kv_usage", "0.92+0x20")],
                "alert_rule_test": [firing(KV, "60s", does=False)],
            },
            {
                "interval": "5s",
                "input_series": [
                    series("gpu_utilization", "60+0x20"),
                    series("waiting", "60+0x20"),
                ],
                "alert_rule_test": [
                    firing(SCALE, "20s", does=False),
                    firing(SCALE, "60s", does=True),
                ],
            },
            {
                "interval": "5s",
                "input_series": [
                    series("gpu_utilization", "60+0x20"),
                    series("waiting", "40+0x20"),
                ],
                "alert_rule_test": [firing(SCALE, "60s", does=False)],
            },
            {
                "interval": "5s",
                "input_series": [series("gpu_utilization", steady), series("running", "4+0x40")],
                "alert_rule_test": [
                    firing(DOWN, "50s", does=False),
                    firing(DOWN, "60s", does=True),
                    firing(DOWN, "150s", does=False),
                ],
            },
        ],
    }
    (tmp_path / "test.yml").write_text(json.dumps(tests))
    done = promtool("test", "rules", str(tmp_path / "test.yml"))
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
def test_promtool_takes_every_expression_of_the_dashboard(tmp_path: Path) -> None:
    document = json.loads(dashboard.render())
    expressions = [target["expr"] for panel in document["panels"] for target in panel["targets"]]
    rules = [
        {"record": f"r{at}", "expr": each.replace("$server", ".*")}
        for at, each in enumerate(expressions)
    ]
    (tmp_path / "r.yml").write_text(json.dumps({"groups": [{"name": "g", "rules": rules}]}))
    done = promtool("check", "rules", str(tmp_path / "r.yml"))
    assert done.returncode == 0, done.stderr


# What Grafana's importer needs of a dashboard, after its documentation of the JSON model.
GRAFANA = {
    "type": "object",
    "required": ["title", "schemaVersion", "panels", "templating", "time"],
    "properties": {
        "title": {"type": "string", "minLength": 1},
        "uid": {"type": "string", "maxLength": 40, "pattern": "^[-_a-zA-Z0-9]+$"},
        "schemaVersion": {"type": "integer", "minimum": 36},
        "panels": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["id", "type", "title", "gridPos", "targets", "datasource"],
                "properties": {
                    "id": {"type": "integer", "minimum": 1},
                    "type": {"enum": ["timeseries", "table", "stat", "row"]},
                    "gridPos": {
                        "type": "object",
                        "required": ["x", "y", "w", "h"],
                        "properties": {
                            "x": {"type": "integer", "minimum": 0, "maximum": 23},
                            "y": {"type": "integer", "minimum": 0},
                            "w": {"type": "integer", "minimum": 1, "maximum": 24},
                            "h": {"type": "integer", "minimum": 1},
                        },
                    },
                    "targets": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["refId", "expr"],
                            "properties": {"expr": {"type": "string", "minLength": 1}},
                        },
                    },
                },
            },
        },
    },
}


def test_the_dashboard_is_of_its_schema_and_no_panel_covers_another() -> None:
    document = json.loads(dashboard.render())
    jsonschema.validate(document, GRAFANA)
    panels = document["panels"]
    assert len({each["id"] for each in panels}) == len(panels)
    covered = [
        (x, y)
        for each in panels
        for x in range(each["gridPos"]["x"], each["gridPos"]["x"] + each["gridPos"]["w"])
        for y in range(each["gridPos"]["y"], each["gridPos"]["y"] + each["gridPos"]["h"])
    ]
    assert len(set(covered)) == len(covered)
    shown = " ".join(target["expr"] for panel in panels for target in panel["targets"])
    for name, signal in knowledge.signals().items():
        assert (f"dsv4_watch_{name}{{" in shown) is (signal.unit != "bool")


LOG = """\
(EngineCore_DP0 pid=1) INFO 11-29 12:00:00 [cuda.py:509] Using FLASH_ATTN attention backend out of potential backends: ['FLASH_ATTN', 'TRITON_ATTN'].
(EngineCore_DP0 pid=1) INFO 11-29 12:00:01 [flash_attn.py:1123] Using FlashAttention version 2
"""  # noqa: E501


@pytest.mark.parametrize(
    ("expected", "unexpected"), [("", None), ("FA3", True), ("fa2", False), ("FLASH_ATTN", False)]
)
def test_the_log_tells_the_backend(expected: str, unexpected: bool | None, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(LOG)
    found = backend.used(str(tmp_path / "log"), expected)
    assert set(found.backends) == {"FA2", "FLASH_ATTN"}
    assert found.unexpected is unexpected
    assert len(found.lines) == 2


def test_a_log_of_0_7_2(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("INFO [cuda.py:230] Using Flash Attention backend.\n")
    assert backend.used(str(tmp_path / "log"), "").backends == ("Flash Attention",)


def test_a_log_that_does_not_tell(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("nothing\n")
    found = backend.used(str(tmp_path / "log"), "FA3")
    assert found.unexpected is None
    assert "no line that names the attention backend" in found.note
    assert backend.used(None, "FA3").note == backend.HOW
    with pytest.raises(InputError, match="No such file"):
        backend.used(str(tmp_path / "none"), "FA3")


def test_the_patterns_of_the_log_are_patterns() -> None:
    for each in knowledge.log_lines():
        assert re.compile(each.pattern).groups == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"prompt": "a"}\n"b"\n', ("a", "b")),
        ("one\ntwo\n---\nthree\n", ("one\ntwo", "three")),
        ("only", ("only",)),
        ("{not json\n", ("{not json",)),
    ],
)
def test_files_of_prefixes(text: str, expected: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "f").write_text(text)
    assert warmup.prefixes(str(tmp_path / "f")) == expected


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "0 prefixes"), (b"\xff\xfe", "no UTF-8"), (b"x\n---\n" * 1001, "1001 prefixes")],
)
def test_files_that_hold_none(content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(InputError, match=said):
        warmup.prefixes(str(tmp_path / "f"))


def test_a_warm_up_measures_before_and_after() -> None:
    with FakeVllm() as fake:
        fake.grow = {}
        fake.cached.add("known")
        server = address(fake.url)
        metrics = address(fake.url, "/metrics")
        done = warmup.warm(server, metrics, "m", ("known", "fresh"), 30)
    assert (done.hit_rate_before, done.hit_rate_after) == (0.5, 1.0)
    assert [each.characters for each in done.sent] == [5, 5]
    assert all(each.first and each.second and not each.problem for each in done.sent)
    assert done.failed == 0


def test_the_key_of_the_server_is_sent_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    got = []

    def keeps(connection: socket.socket, _done: threading.Event, first: bytes) -> None:
        got.append(first)
        connection.sendall(b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n")

    monkeypatch.setenv("VLLM_API_KEY", "a key")
    with serving(keeps) as place:
        done = warmup.warm(address(place), address(place, "/metrics"), "m", ("a",), 30)
    assert b"\r\nAuthorization: Bearer a key\r\n" in got[1]
    assert done.sent[0].problem == "HTTP status 401: "
    monkeypatch.setenv("VLLM_API_KEY", "a\r\nkey")
    with serving(keeps) as place:
        done = warmup.warm(address(place), address(place, "/metrics"), "m", ("a",), 30)
    assert done.sent[0].problem == "the key of the server has signs in it that no header can have"


def test_a_warm_up_of_a_server_that_refuses() -> None:
    with serving(refuses) as place:
        done = warmup.warm(address(place), address(place, "/metrics"), "m", ("a",), 30)
    assert done.failed == 1
    assert done.sent[0].problem.startswith("HTTP status 500")
    assert done.hit_rate_after is None
    assert done.note
