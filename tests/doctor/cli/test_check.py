"""``check`` and ``snapshot`` on the command line: results, exit statuses, bad input."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.machines import bare, failed, healthy

from dsv4_doctor import evaluation
from dsv4_doctor.cli.main import COMMANDS, run
from dsv4_doctor.codec import dump_snapshot, parse_snapshot
from dsv4_doctor.errors import InputError
from dsv4_doctor.snapshot import Snapshot


def schema(name: str) -> dict[str, Any]:
    text = files("dsv4_doctor").joinpath(f"schemas/{name}.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    path = tmp_path / "machine.json"
    path.write_text(dump_snapshot(healthy()), encoding="utf-8")
    return path


def store(path: Path, snapshot: Snapshot) -> str:
    path.write_text(dump_snapshot(snapshot), encoding="utf-8")
    return str(path)


BUILD = ("--for", "build", "--arch", "sm_90")


def test_json_report_validates(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--from", str(stored), *BUILD, "--format", "json"]) == 0
    output = capsys.readouterr()
    report = json.loads(output.out)
    assert output.err == ""
    jsonschema.validate(report, schema("report-1"))
    assert report["schema"] == "dsv4-doctor/report/1"
    assert report["verdict"] == "pass"
    assert report["summary"]["fail"] == 0
    assert report["target"]["release"] == "0.24.0"
    assert any("--vllm 0.33.0 chooses the newest" in note for note in report["notes"])


def test_a_report_can_carry_its_facts(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["check", "--from", str(stored), *BUILD, "--facts"]
    assert run([*command, "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    jsonschema.validate(report, schema("report-1"))
    assert report["snapshot"] == json.loads(stored.read_text(encoding="utf-8"))
    assert run([*command, "--format", "text"]) == 2
    assert "--facts goes with --format json" in capsys.readouterr().err


def test_a_report_of_an_older_doctor_validates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["check", "--from", store(tmp_path / "s.json", bare()), *BUILD, "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    commands = [
        command
        for finding in report["findings"]
        for command in (finding["remedy"] or {"commands": ()})["commands"]
    ]
    assert commands
    for command in commands:
        # What the first release of the schema did not have.
        for name in ("safe", "unset", "undo"):
            del command[name]
    jsonschema.validate(report, schema("report-1"))


@pytest.mark.parametrize("snapshot", [healthy(), bare(), Snapshot("t", "v", ())])
def test_snapshots_validate(snapshot: Snapshot) -> None:
    text = dump_snapshot(snapshot)
    jsonschema.validate(json.loads(text), schema("snapshot-1"))
    assert parse_snapshot(text, "x") == snapshot


def test_text_report_has_the_failing_things_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = store(tmp_path / "bare.json", bare())
    assert run(["check", "--from", path, *BUILD]) == 1
    output = capsys.readouterr().out
    assert output.index("no CUDA compiler found") < output.index("! torch is not installed")
    assert output.index("! torch is not installed") < output.index("✓ nvcc uses g++")
    assert "dsv4-doctor toolchain" in output
    assert "verdict: fail" in output


@pytest.mark.parametrize(
    ("snapshot", "options", "status"),
    [
        (healthy(), BUILD, 0),
        (healthy(), (*BUILD, "--strict"), 1),
        (bare(), BUILD, 1),
        (failed(healthy(), "gpus", "no answer within 5 s"), BUILD, 3),
        (failed(bare(), "gpus", "no answer within 5 s"), BUILD, 1),
    ],
)
def test_exit_statuses(
    tmp_path: Path, snapshot: Snapshot, options: tuple[str, ...], status: int
) -> None:
    assert run(["check", "--from", store(tmp_path / "s.json", snapshot), *options]) == status


@pytest.mark.parametrize(
    ("arguments", "named", "lists"),
    [
        (["--vllm", "0.99.0"], "0.99.0", "0.33.0"),
        (["--arch", "sm_999"], "sm_999", "sm_90"),
        (["--arch", "hopper"], "hopper", "sm_90"),
        (["--feature", "fa9"], "fa9", "fa3"),
        (["--profile", "other"], "other", "article"),
        (["--vllm", "0.33.0", "--feature", "paged-v2"], "paged-v2", "CMakeLists.txt:378"),
    ],
)
def test_unknown_names_list_what_exists(
    stored: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    named: str,
    lists: str,
) -> None:
    assert run(["check", "--from", str(stored), *arguments]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    first = output.err.splitlines()[0]
    assert first.startswith("error: ")
    assert named in first
    assert lists in first


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"schema": "dsv4-doctor/snapshot/1"}',
        b'{"schema": "dsv4-doctor/snapshot/2"}',
        b'{"schema": "other"}',
        b"\xff\xfe\x00",
        b"[" * 200_000,
        dump_snapshot(healthy()).encode()[:-100],
        dump_snapshot(healthy()).replace('"sm_90a"', "90").encode(),
    ],
)
def test_broken_snapshots_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(content)
    assert run(["check", "--from", str(path)]) == 2
    output = capsys.readouterr()
    assert output.err.startswith(f"error: {path}: ")
    assert "Traceback" not in output.err
    assert output.out == ""


def test_missing_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--from", str(tmp_path / "none.json")]) == 2
    assert "none.json: No such file or directory" in capsys.readouterr().err


@given(st.integers(0, 10_000), st.text(max_size=3))
def test_a_damaged_snapshot_raises_nothing_else(position: int, insert: str) -> None:
    text = dump_snapshot(healthy())
    cut = position % len(text)
    with contextlib.suppress(InputError):
        parse_snapshot(text[:cut] + insert + text[cut + 1 :], "damaged")


def test_a_fault_of_the_tool_itself_has_its_own_status(
    stored: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        msg = "a fault"
        raise RuntimeError(msg)

    monkeypatch.setattr(evaluation, "evaluate", broken)
    assert run(["check", "--from", str(stored)]) == 4
    assert "itself broke" in capsys.readouterr().err


def test_interrupting_has_its_own_status(
    stored: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(evaluation, "evaluate", interrupted)
    assert run(["check", "--from", str(stored)]) == 130
    assert "interrupted" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["check", "--nonsense"], ["nonsense"], ["check", "--for", "x"]]
)
def test_a_wrong_command_line_is_status_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert "Traceback" not in output.err


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("dsv4-doctor ")
    assert run(["--help"]) == 0
    listed = capsys.readouterr().out
    for command in COMMANDS:
        assert command in listed


def test_snapshot_writes_a_file_that_check_reads(tmp_path: Path) -> None:
    path = tmp_path / "here.json"
    assert run(["snapshot", "--out", str(path)]) == 0
    jsonschema.validate(json.loads(path.read_text(encoding="utf-8")), schema("snapshot-1"))
    assert run(["check", "--from", str(path), "--format", "json"]) in {0, 1, 3}
    assert [entry.name for entry in tmp_path.iterdir()] == ["here.json"]


def test_snapshot_into_a_directory_that_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["snapshot", "--out", str(tmp_path / "no" / "s.json")]) == 2
    assert "cannot write here" in capsys.readouterr().err


def test_text_from_a_machine_does_not_drive_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = "\x1b]0;owned\x07\x1b[2J"
    python = healthy().python
    assert python is not None
    machine = healthy(python=replace(python, version=hostile))
    run(["check", "--from", store(tmp_path / "s.json", machine), *BUILD])
    output = capsys.readouterr().out
    assert "\x1b" not in output
    assert "\\x1b]0;owned" in output


def test_deep_looks_at_symbols(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["snapshot"]) == 0
    shallow = json.loads(capsys.readouterr().out)
    assert shallow["symbols"] is None
    assert "symbols" not in {each["name"] for each in shallow["probes"]}
    assert run(["snapshot", "--deep"]) == 0
    deep = json.loads(capsys.readouterr().out)
    jsonschema.validate(deep, schema("snapshot-1"))
    assert "symbols" in {each["name"] for each in deep["probes"]}
    assert deep["symbols"] is not None
