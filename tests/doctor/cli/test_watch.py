"""The command: exit statuses, formats, what it prints for other programs, bad input."""

from __future__ import annotations

import json
import os
import pty
import re
import socket
import subprocess
import sys
from importlib.resources import files
from typing import TYPE_CHECKING

import jsonschema
import pytest
from tests.doctor.machines import healthy

from dsv4_doctor.cli.main import run
from dsv4_doctor.facts.driver import Xid
from dsv4_doctor.watch import watcher
from fake_vllm_server import FakeVllm

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dsv4_doctor.facts.gpu import Gpu

SCHEMA = json.loads(files("dsv4_doctor").joinpath("schemas/watch-1.json").read_text())
QUICK = ["--once", "--interval", "0.1", "--timeout", "30"]


@pytest.fixture
def fake() -> Iterator[FakeVllm]:
    with FakeVllm() as server:
        yield server


@pytest.fixture(autouse=True)
def gpus(monkeypatch: pytest.MonkeyPatch) -> list[Gpu]:
    found = list(healthy().gpus or ())
    monkeypatch.setattr(watcher, "gpus_of_this_machine", lambda: tuple(found) or None)
    monkeypatch.setattr(watcher, "xids_of_this_machine", lambda: (Xid("0000:17:00", 79),))
    return found


def test_nothing_is_raised(fake: FakeVllm, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["watch", fake.url, *QUICK]) == 0
    out = capsys.readouterr().out
    assert "deepseek-ai/DeepSeek-V4-Flash, 1 engines" in out
    assert re.search(r"KV cache in use +42\.0%", out)
    assert re.search(r"Hit rate of the prefix cache +60\.0%", out)
    assert "nothing is raised" in out


def test_a_full_cache_is_raised(fake: FakeVllm, capsys: pytest.CaptureFixture[str]) -> None:
    fake.values["kv_cache_usage_perc"] = 0.97
    assert run(["watch", fake.url, *QUICK]) == 1
    out = capsys.readouterr().out
    assert "✗ the KV cache is 97.0% full: requests wait, and are preempted next" in out


def test_json_is_of_its_schema(
    fake: FakeVllm, gpus: list[Gpu], capsys: pytest.CaptureFixture[str]
) -> None:
    fake.values["kv_cache_usage_perc"] = 0.97
    assert run(["watch", fake.url, "--format", "json", *QUICK]) == 1
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, SCHEMA)
    assert document["signals"]["kv_usage"] == 0.97
    assert document["signals"]["prefix_hit_rate"] == 0.6
    assert document["cache"]["block_size"] == "256"
    assert len(document["gpus"]) == len(gpus)
    assert [each["id"] for each in document["raised"]] == ["watch.kv-cache.full"]


def test_without_the_gpus_of_this_machine(
    fake: FakeVllm, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["watch", fake.url, "--no-gpu", "--format", "json", *QUICK]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["gpus"] == []
    assert "gpu_utilization" not in document["signals"]
    assert any("no GPU was asked" in each for each in document["untold"])


def test_a_new_xid_is_raised_with_its_number(
    fake: FakeVllm, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    looks = iter(((), (), (Xid("0000:17:00", 79),)))
    monkeypatch.setattr(watcher, "xids_of_this_machine", lambda: next(looks))
    assert run(["watch", fake.url, *QUICK]) == 1
    out = capsys.readouterr().out
    assert "Xid 79 of 0000:17:00: 1" in out
    assert "✗ 1 Xid errors in the kernel's log since the watch began" in out


def test_on_a_terminal_the_picture_is_renewed(fake: FakeVllm) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "dsv4_doctor", "watch", fake.url, "--no-gpu"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(
        [*command, "--interval", "0.1"], stdout=theirs, stderr=theirs, env=environment
    ) as child:
        os.close(theirs)
        shown = b""
        while shown.count(b"KV cache in use") < 3:
            shown += os.read(ours, 65536)
        child.terminate()
    os.close(ours)
    # It moves up and writes over what stood there.
    assert b"\x1b[1A" in shown


def test_a_server_that_cannot_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert run(["watch", f"127.0.0.1:{port}", *QUICK]) == 3
    out = capsys.readouterr().out
    assert "✗ the metrics of the server cannot be read" in out
    assert "not told: metrics: Connection refused" in out


def test_another_page_than_metrics(fake: FakeVllm, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["watch", f"{fake.url}/other", *QUICK]) == 3
    assert "HTTP status 404 instead of a page of metrics" in capsys.readouterr().out


def test_the_backend_of_the_log(
    fake: FakeVllm, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log"
    log.write_text("INFO [flash_attn.py:1123] Using FlashAttention version 2\n")
    expect = ["--log", str(log), "--expect-backend", "FA3"]
    assert run(["watch", fake.url, *expect, *QUICK]) == 1
    out = capsys.readouterr().out
    assert "attention: FA2, expected FA3" in out
    assert "! the server does not use the attention backend that is expected" in out
    log.write_text("INFO [flash_attn.py:1123] Using FlashAttention version 3\n")
    assert run(["watch", fake.url, *expect, *QUICK]) == 0


def test_events_are_told(
    fake: FakeVllm, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.values["kv_cache_usage_perc"] = 0.97
    hook = ["--webhook", f"{fake.url}/hook", "--command", f"touch {tmp_path}/told"]
    assert run(["watch", fake.url, *hook, *QUICK]) == 1
    assert [each["id"] for each in fake.seen] == ["watch.kv-cache.full"]
    assert (tmp_path / "told").exists()
    assert run(["watch", fake.url, "--command", "false", *QUICK]) == 1
    assert "could not be told: false: exit status 1" in capsys.readouterr().err


def test_warm_up(fake: FakeVllm, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fake.grow = {}
    (tmp_path / "f").write_text("one\n---\nthree\n")
    assert run(["watch", fake.url, "--warmup", str(tmp_path / "f")]) == 0
    out = capsys.readouterr().out
    assert re.search(r"prefix 2, 5 characters: first \d+ ms, again \d+ ms", out)
    assert "hit rate of the prefix cache: before 0.0%, after 100.0%" in out
    assert run(["watch", fake.url, "--warmup", str(tmp_path / "f"), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["hit_rate_after"] == 1


def test_what_is_generated(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["watch", "--alert-rules"]) == 0
    assert json.loads(capsys.readouterr().out)["groups"][0]["name"] == "dsv4-doctor-watch"
    assert run(["watch", "--dashboard"]) == 0
    assert json.loads(capsys.readouterr().out)["uid"] == "dsv4-doctor-watch"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "no server"),
        (["ftp://x", "--once"], "is no address of a server"),
        (["x", "--interval", "0"], "at least 0.1 seconds"),
        (["x", "--expect-backend", "FA3"], "--expect-backend needs --log"),
        (["x", "--log", "/no/such/log", "--once"], "No such file"),
        (["x", "--export", "nowhere", "--once"], "no place to listen"),
        (["x", "--command", "", "--once"], "the command for events is empty"),
        (["x", "--warmup", "/no/such/file"], "No such file"),
        (["--alert-rules", "--dashboard"], "ask for one of them"),
    ],
)
def test_bad_input(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["watch", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_it_goes_on_until_it_is_interrupted_and_exports(fake: FakeVllm) -> None:
    command = [sys.executable, "-m", "dsv4_doctor", "watch", fake.url, "--no-gpu"]
    options = ["--interval", "0.1", "--format", "json", "--export", "0"]
    with subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        documents = [json.loads(child.stdout.readline()) for _ in range(3)]
        child.terminate()
        _, error = child.communicate(timeout=60)
    assert "prompt_rate" not in documents[0]["signals"]
    assert documents[2]["signals"]["prompt_rate"] > 0
    assert re.search(r"metrics for Prometheus on port \d+", error)
