"""``dsv4-doctor checks``, and ``--select`` and ``--ignore`` of ``check``."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
from tests.doctor.machines import healthy

from dsv4_doctor.checks.registry import all_checks
from dsv4_doctor.cli.main import run
from dsv4_doctor.codec import dump_snapshot


def test_the_table_names_every_check_and_what_it_reads(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["checks"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for each in all_checks():
        line = next(line for line in lines if line.startswith(f"{each.id} "))
        assert each.title in line
        assert line.rstrip().endswith(", ".join(each.reads))


def test_json_has_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["checks", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    text = files("dsv4_doctor").joinpath("schemas/checks-1.json").read_text(encoding="utf-8")
    jsonschema.validate(document, json.loads(text))
    assert document["schema"] == "dsv4-doctor/checks/1"
    assert [each["id"] for each in document["checks"]] == [each.id for each in all_checks()]
    assert all(each["decides"] and each["fix"] for each in document["checks"])


def test_show_says_what_one_check_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["checks", "show", "build.tools.cmake"]) == 0
    page = capsys.readouterr().out
    for text in (
        "build.tools.present",
        "build_tools: ",
        "issues/10188",
        "Install cmake",
        "--ignore build.tools.present",
    ):
        assert text in page
    assert run(["checks", "show", "gpu.bar1.size", "--format", "json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["checks"]
    assert told["reads"][0]["name"] == "gpus"


def test_show_of_an_unknown_id(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["checks", "show", "gpu.bar.size"]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert "near: gpu.bar1.size" in output.err


@pytest.fixture
def stored(tmp_path: Path) -> str:
    path = tmp_path / "machine.json"
    path.write_text(dump_snapshot(healthy()), encoding="utf-8")
    return str(path)


def test_ignoring_what_warns(stored: str, capsys: pytest.CaptureFixture[str]) -> None:
    build = ["check", "--from", stored, "--for", "build", "--strict", "--format", "json"]
    assert run(build) == 1
    capsys.readouterr()
    assert run([*build, "--ignore", "cuda.home.symlink"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert "left out by --ignore: cuda.home.symlink" in report["notes"]
    assert "cuda.home.symlink" not in {each["id"] for each in report["findings"]}


def test_a_wrong_pattern_is_a_usage_error(stored: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--from", stored, "--select", "cuda.hom.*"]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith(
        "error: --select cuda.hom.*: no check has this id; near: cuda.home"
    )
