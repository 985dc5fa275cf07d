"""``releases`` on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.doctor.knowledge.extract import trees

from dsv4_doctor.cli.main import run
from dsv4_doctor.knowledge import load


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run(["releases", *arguments, "--format", "json"]) == 0
    output = capsys.readouterr()
    assert output.err == ""
    document: dict[str, Any] = json.loads(output.out)
    return document


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    document = answer(capsys)
    assert document["schema"] == "dsv4-doctor/releases/1"
    assert [each["release"] for each in document["releases"]] == list(load.release_names())
    assert run(["releases"]) == 0
    assert "0.24.0" in capsys.readouterr().out


def test_one_release(capsys: pytest.CaptureFixture[str]) -> None:
    document = answer(capsys, "show", "0.33.0")
    torch = document["topics"]["requirement"]["torch"]
    assert torch == {"value": "2.14.0", "source": "vllm 0.33.0 pyproject.toml:10"}
    assert document["absent"]["paged-v2"]["last"] == "0.24.0"
    assert run(["releases", "show", "0.33.0"]) == 0
    shown = capsys.readouterr().out
    assert "paged-v2: last in 0.24.0" in shown
    assert "CMakeLists.txt:1694" in shown


def test_a_tree_can_be_shown_and_compared(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    tree = str(trees.directory(tmp_path / "tree"))
    document = answer(capsys, "show", tree)
    assert any("fa3" in each for each in document["not_established"])
    assert run(["releases", "show", tree]) == 0
    assert "not established" in capsys.readouterr().out
    assert answer(capsys, "diff", "0.24.0", tree)["changes"]


def test_a_difference(capsys: pytest.CaptureFixture[str]) -> None:
    document = answer(capsys, "diff", "0.24.0", "0.33.0")
    kinds = {(each["topic"], each["name"]): each["kind"] for each in document["changes"]}
    assert kinds["feature", "paged-v2"] == "removed"
    assert run(["releases", "diff", "0.24.0", "0.33.0"]) == 0
    assert "- paged-v2" in capsys.readouterr().out


def test_what_fits(capsys: pytest.CaptureFixture[str]) -> None:
    document = answer(capsys, "find", "--has", "fa3,paged-v2,deepseek-v4", "--torch", "2.11")
    fits = [each["release"] for each in document["releases"] if each["fits"]]
    assert fits[0] == "0.24.0"
    assert document["releases"][0]["in_the_way"][0]["source"] == "vllm 0.24.0 CMakeLists.txt:378"
    assert run(["releases", "find", "--has", "fa4", "--cuda", "13.0"]) == 0
    assert "✓ 0.33.0" in capsys.readouterr().out


def test_nothing_fits(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["releases", "find", "--torch", "1.0"]) == 1
    assert "it pins torch 2.14.0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["show", "0.15.0"], "nearest known: 0.16.0, 0.14.1"),
        (["show", "./nothing"], "no such file"),
        (["diff", "0.24.0", "0.99.0"], "0.99.0"),
        (["find"], "nothing to look for"),
        (["find", "--has", "fa9"], "known: "),
        (["find", "--arch", "sm_1"], "known: "),
        (["find", "--cuda", "new"], "--cuda"),
        (["find", "--torch", "new"], "--torch"),
    ],
)
def test_a_wrong_command_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], named: str
) -> None:
    assert run(["releases", *arguments]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert named in output.err
