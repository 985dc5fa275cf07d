"""``check --from`` and ``snapshot --from`` with pasted texts, and ``--redact``."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.doctor.cli.test_check import schema
from tests.doctor.ingest import texts
from tests.doctor.machines import failed, healthy

from dsv4_doctor.cli.main import run
from dsv4_doctor.codec import dump_snapshot, parse_snapshot
from dsv4_doctor.ingest.load import load
from dsv4_doctor.knowledge.load import torch_pins


@pytest.fixture
def pasted(tmp_path: Path) -> Path:
    path = tmp_path / "paste.txt"
    path.write_text(texts.by_vllm(vllm="0.24.0"), encoding="utf-8")
    return path


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    status = run(["check", *arguments, "--format", "json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, schema("report-1"))
    assert status == {"pass": 0, "fail": 1, "unknown": 3}[found["verdict"]]
    return found


def test_a_text_is_judged(pasted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = report(capsys, "--from", str(pasted), "--for", "serve")
    assert found["verdict"] == "unknown"
    assert found["summary"]["fail"] == 0
    assert found["notes"][0].startswith(f"facts are from {pasted}, not from this machine: ")
    statuses = {each["id"]: each["status"] for each in found["findings"]}
    assert statuses["torch.build.pin"] == "pass"
    assert statuses["python.headers.present"] == "unknown"


def test_standard_input(pasted: Path, capsys: pytest.CaptureFixture[str],
                        monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(pasted.read_bytes())))
    assert "facts are from <stdin>" in report(capsys, "--from", "-")["notes"][0]


def newest_for(torch: str) -> str:
    return next(name for name, pin in torch_pins().items() if pin == torch)


@pytest.mark.parametrize(
    ("vllm", "torch", "release", "says"),
    [
        ("0.24.0", "2.11.0+cu130", "0.24.0", "is the one that the text names"),
        ("0.24.0.post1.dev3+gabc", "2.11.0+cu130", "0.24.0", "the nearest known release before it"),
        ("N/A (dev)", "2.11.0+cu130", newest_for("2.11.0"), "newest known release for torch 2.11"),
        ("0.1.dev1", "2.5.1+cu124", newest_for("2.5.1"), "newest known release for torch 2.5"),
    ],
)
def test_the_release_that_the_text_is_about(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    vllm: str,
    torch: str,
    release: str,
    says: str,
) -> None:
    path = tmp_path / "paste.txt"
    named = {**texts.TORCH, "PyTorch version": torch}
    path.write_text(texts.by_vllm(vllm=vllm, torch=named), encoding="utf-8")
    found = report(capsys, "--from", str(path))
    assert found["target"]["release"] == release
    assert any(says in note for note in found["notes"])
    asked = report(capsys, "--from", str(path), "--vllm", "0.33.0")
    assert asked["target"]["release"] == "0.33.0"
    assert not any(says in note for note in asked["notes"])


@pytest.mark.parametrize("text", [texts.smi_q(), dump_snapshot(healthy())])
def test_without_python_the_default_release_is_meant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    path = tmp_path / "paste.txt"
    path.write_text(text, encoding="utf-8")
    assert report(capsys, "--from", str(path))["target"]["release"] == "0.24.0"


def test_one_of_several_machines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "paste.txt"
    path.write_text(texts.by_vllm() + texts.smi_q(driver="550.90.07"), encoding="utf-8")
    found = report(capsys, "--from", str(path), "--block", "2")
    assert "this is 2" in found["notes"][1]
    assert run(["check", "--from", str(path), "--block", "3"]) == 2
    assert "there are 2 machines in it" in capsys.readouterr().err


def test_another_kind_of_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "paste.txt"
    python = {**texts.PYTHON, "Python platform": "macOS-15.1.1-arm64-arm-64bit"}
    path.write_text(texts.by_torch(python=python), encoding="utf-8")
    assert [each["id"] for each in report(capsys, "--from", str(path))["findings"]] == [
        "host.platform.target"
    ]


def test_a_text_becomes_a_snapshot(
    pasted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = tmp_path / "snapshot.json"
    assert run(["snapshot", "--from", str(pasted), "--out", str(stored)]) == 0
    text = stored.read_text(encoding="utf-8")
    jsonschema.validate(json.loads(text), schema("snapshot-1"))
    assert parse_snapshot(text, "x") == load(str(pasted))
    options = ("--for", "serve", "--vllm", "0.24.0")
    direct = report(capsys, "--from", str(pasted), *options)
    assert report(capsys, "--from", str(stored), *options) == direct


@pytest.mark.parametrize("command", ["check", "snapshot"])
@pytest.mark.parametrize("output", ["text", "json"])
def test_redacted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, output: str
) -> None:
    directory = tmp_path / "home" / "alice.weber"
    directory.mkdir(parents=True)
    path = directory / "paste.txt"
    machine = dump_snapshot(healthy()).replace('"h200"', '"dgx-07"')
    path.write_text(machine.replace("/opt/torch", "/home/alice.weber"), encoding="utf-8")
    options = ["--format", output] if command == "check" else []
    run([command, "--from", str(path), *options])
    assert "alice.weber" in capsys.readouterr().out
    run([command, "--from", str(path), "--redact", *options])
    written = capsys.readouterr().out
    assert "alice.weber" not in written
    assert "dgx-07" not in written
    assert "user-1" in written
    assert "host-1" in written


def test_what_is_not_told_is_said_once(pasted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = report(capsys, "--from", str(pasted), "--for", "serve")
    run(["check", "--from", str(pasted), "--for", "serve"])
    text = " ".join(capsys.readouterr().out.split())
    assert text.count("not told by the collect_env text of vLLM") == 1
    assert text.count("lists only some packages: ") <= 1
    for each in found["findings"]:
        assert each["status"] != "unknown" or each["id"] in text


@pytest.mark.parametrize(("section", "together"), [("python", True), ("build_tools", False)])
def test_a_probe_that_many_checks_need_is_said_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], section: str, together: bool
) -> None:
    path = tmp_path / "snapshot.json"
    path.write_text(dump_snapshot(failed(healthy(), section, "it broke")), encoding="utf-8")
    run(["check", "--from", str(path), "--for", "build", "--arch", "sm_90"])
    assert ("checks could not be decided: it broke" in capsys.readouterr().out) == together
