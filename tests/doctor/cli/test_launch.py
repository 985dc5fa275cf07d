"""``launch`` on the command line."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.doctor import machines
from tests.doctor.launch.configs import LLAMA_8B

from dsv4_doctor.cli.main import run
from dsv4_doctor.codec import dump_snapshot

FLASH = ["--model", "DeepSeek-V4-Flash", "--vllm", "0.33.0"]


def answer(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> dict[str, Any]:
    assert run(["launch", *arguments, "--format", "json"]) == status
    output = capsys.readouterr()
    assert output.err == ""
    document: dict[str, Any] = json.loads(output.out)
    schema = resources.files("dsv4_doctor") / "schemas" / "launch-1.json"
    jsonschema.validate(document, json.loads(schema.read_text(encoding="utf-8")))
    return document


@pytest.fixture(autouse=True)
def no_downloads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", "/nowhere")
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)


def test_a_plan(capsys: pytest.CaptureFixture[str]) -> None:
    document = answer(capsys, *FLASH, "--gpu", "H200", "--gpus", "8")
    assert document["argv"][:3] == ["vllm", "serve", "deepseek-ai/DeepSeek-V4-Flash"]
    assert document["memory"]["weights"] > 0
    assert document["longest"] == 1048576


def test_the_text_has_command_reasons_and_memory(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["launch", *FLASH, "--gpu", "H200", "--gpus", "8"]) == 0
    shown = capsys.readouterr().out
    for text in (
        "148.66 GiB",
        "  --block-size 256 \\",
        "vllm/models/deepseek_v4/sparse_mla.py:61",
        "KV cache (fp8)",
        "longest request: 1,048,576 tokens",
        "parallel loading workers by storage",
    ):
        assert text in shown


def test_the_honest_no(capsys: pytest.CaptureFixture[str]) -> None:
    document = answer(capsys, *FLASH, "--gpu", "L40S", "--gpus", "8", status=1)
    assert document["argv"] == []
    assert "8.9" in document["obstacles"][0]
    assert run(["launch", *FLASH, "--gpu", "L40S", "--gpus", "8"]) == 1
    assert "what would do" in capsys.readouterr().out
    assert run(["launch", *FLASH, "--gpu", "L40S", "--format", "shell"]) == 1
    assert capsys.readouterr().out.endswith("exit 1\n")


def test_the_shell_script_is_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    document = answer(capsys, *FLASH, "--gpu", "B200", "--gpus", "8", "--goal", "latency")
    arguments = [*FLASH, "--gpu", "B200", "--gpus", "8", "--goal", "latency"]
    assert run(["launch", *arguments, "--format", "shell"]) == 0
    script = capsys.readouterr().out
    words = shlex.split(script.replace(" \\\n", " "), comments=True)
    assert words == ["exec", *document["argv"]]


def test_a_stored_machine_and_a_directory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "machine.json"
    path.write_text(dump_snapshot(machines.healthy()), encoding="utf-8")
    place = tmp_path / "a model"
    place.mkdir()
    (place / "config.json").write_text(json.dumps(LLAMA_8B), encoding="utf-8")
    document = answer(capsys, "--model", str(place), "--snapshot", str(path))
    assert document["gpus"]["name"] == "NVIDIA H200"
    assert document["argv"][2] == str(place)
    empty = replace(machines.healthy(), gpus=())
    path.write_text(dump_snapshot(empty), encoding="utf-8")
    assert run(["launch", "--model", str(place), "--snapshot", str(path)]) == 2
    assert "plan for another machine with --gpu" in capsys.readouterr().err


def test_data_types_by_the_headers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.json").write_text(json.dumps(LLAMA_8B), encoding="utf-8")
    tensor = {"dtype": "BF16", "shape": [8 << 30], "data_offsets": [0, 16 << 30]}
    text = json.dumps({"w": tensor}).encode()
    (tmp_path / "a.safetensors").write_bytes(len(text).to_bytes(8, "little") + text)
    document = answer(capsys, "--model", str(tmp_path), "--gpu", "H200")
    assert document["model"]["dtypes"] == {"BF16": 16 << 30}
    assert document["model"]["weights"] == 16 << 30
    assert run(["launch", "--model", str(tmp_path), "--gpu", "H200"]) == 0
    assert "by data type: BF16 16.00 GiB" in capsys.readouterr().out


def test_the_default_release_serves_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "--model", "DeepSeek-V4-Flash", "--gpu", "H200", "--gpus", "8")
    assert found["release"] == "0.24.0"
    newer = answer(capsys, "--model", "DeepSeek-V4-Flash-0731", "--gpu", "H200", "--gpus", "8")
    assert newer["release"] == "0.33.0"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([*FLASH, "--gpu", "H999"], "unknown GPU"),
        ([*FLASH, "--gpus", "8"], "--gpus says how many"),
        ([*FLASH, "--gpu", "H200", "--snapshot", "x.json"], "two machines"),
        (["--model", "no/such", "--gpu", "H200"], "not one of the published models"),
        (
            ["--model", "DeepSeek-V4-Flash", "--gpu", "H200", "--vllm", "9.9"],
            "unknown vLLM release",
        ),
        (["--model", "DeepSeek-V4-Flash", "--gpu", "H200", "--vllm", "0.7.2"], "cannot be planned"),
        (["--model", "DeepSeek-V4.1-Flash", "--gpu", "B200"], "cannot be planned: its Engram"),
        ([*FLASH, "--gpu", "H200", "--max-model-len", "99999999"], "the model's own limit"),
        ([*FLASH, "--gpu", "H200", "--goal", "speed"], "speed"),
        ([], "--model"),
    ],
)
def test_a_wrong_command_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["launch", *arguments]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert said in output.err


def test_hostile_names_do_not_reach_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "m\x1b[2J\nodel'; rm -rf x"
    place.mkdir()
    (place / "config.json").write_text(json.dumps(LLAMA_8B), encoding="utf-8")
    assert run(["launch", "--model", str(place), "--gpu", "H200"]) == 0
    assert "\x1b" not in capsys.readouterr().out
    assert run(["launch", "--model", str(place), "--gpu", "H200", "--format", "shell"]) == 0
    assert shlex.split(capsys.readouterr().out, comments=True)[:4] == [
        "exec", "vllm", "serve", str(place),
    ]  # fmt: skip
