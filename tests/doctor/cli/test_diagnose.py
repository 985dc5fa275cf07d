"""The command: exit statuses, formats, bad input, the handbook, following."""

from __future__ import annotations

import gzip
import io
import json
import os
import threading
import time
from importlib.resources import files
from typing import TYPE_CHECKING

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.doctor.machines import compiler, healthy

from dsv4_doctor.cli.main import run
from dsv4_doctor.codec import dump_snapshot
from dsv4_doctor.facts.compiler import HostCompilers
from dsv4_doctor.formats import diagnosis_markdown, handbook
from dsv4_doctor.knowledge import signature as known
from dsv4_doctor.logs import follow
from dsv4_doctor.logs.redact import redact
from dsv4_doctor.logs.session import diagnose

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dsv4_doctor.logs.diagnosis import Cause

CEILING = (
    "host_config.h:143:2: error: #error -- unsupported GNU version! "
    "gcc versions later than 13 are not supported!\n"
)
SCHEMA = json.loads(files("dsv4_doctor").joinpath("schemas/diagnosis-1.json").read_text())


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "build.log"
    path.write_text(f"start\n{CEILING}ninja: build stopped: subcommand failed.\n")
    return path


def test_a_named_cause_is_status_0(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", str(log)]) == 0
    out = capsys.readouterr().out
    assert "first cause: the host compiler is newer than nvcc accepts" in out
    assert "line 2" in out
    assert "g++-13" in out


def test_no_cause_is_status_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log"
    path.write_text("all is well\nValueError: odd\n")
    assert run(["diagnose", str(path)]) == 1
    out = capsys.readouterr().out
    assert "no known cause" in out
    assert "2: ValueError: odd" in out


def test_a_log_that_ends_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log"
    path.write_text("Collecting vllm\nSuccessfully installed vllm-0.24.0\n")
    assert run(["diagnose", str(path)]) == 1
    assert "nothing failed: it ends with success" in capsys.readouterr().out
    assert run(["diagnose", str(path), "--format", "markdown"]) == 1
    assert "It ends with success" in capsys.readouterr().out


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(CEILING.encode()))))
    assert run(["diagnose", "-"]) == 0


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["/nowhere/build.log"],
        ["/"],
        ["x", "--snapshot", "y", "--live"],
        ["x", "--python", "/usr/bin/python3"],
        ["--show", "no.such"],
        ["x", "--format", "xml"],
    ],
)
def test_wrong_command_lines_are_status_2(arguments: list[str]) -> None:
    assert run(["diagnose", *arguments]) == 2


def test_json_is_in_its_schema(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", str(log), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, SCHEMA)
    assert document["verdict"] == "named"
    assert document["causes"][0]["id"] == "host.compiler.too-new"


@pytest.mark.parametrize(
    "text", ["", "fine\n", "Segmentation fault\n", CEILING + "Installed 3 packages\n"]
)
def test_every_kind_of_answer_is_in_the_schema(text: str) -> None:
    jsonschema.validate(
        json.loads(json.dumps(diagnose(io.BytesIO(text.encode()), "log").to_json())), SCHEMA
    )


def test_remedy_is_of_the_machine_of_the_snapshot(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    snapshot = tmp_path / "snapshot.json"
    new, old = compiler("16.1.0"), compiler("13.3.0", "/usr/bin/g++-13")
    machine = healthy(compilers=HostCompilers((new, old), new, "PATH"))
    snapshot.write_text(dump_snapshot(machine))
    assert run(["diagnose", str(log), "--snapshot", str(snapshot), "--format", "json"]) == 0
    cause = json.loads(capsys.readouterr().out)["causes"][0]
    assert cause["concrete"]
    assert cause["known"][0]["id"] == "host.compiler.ceiling"
    assert cause["known"][0]["status"] == "fail"
    assert "/usr/bin/g++-13" in json.dumps(cause["remedy"])


def test_markdown_is_redacted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log"
    path.write_text(
        "/home/alice/vllm/a.cu:1:10: fatal error: cute/x.hpp: No such file or directory "
        "token=abcdef123456 http://bob:secret@10.1.2.3/x hf_abcdefghijklmnop\n"
    )
    assert run(["diagnose", str(path), "--format", "markdown"]) == 0
    out = capsys.readouterr().out
    for private in ("alice", "abcdef123456", "bob", "secret@", "10.1.2.3", "hf_abc"):
        assert private not in out
    assert "/home/<user>/vllm/a.cu" in out
    assert "build.cutlass.missing" in out


def test_markdown_cannot_be_broken_out_of() -> None:
    text = "x.cu(1): error: ```\n# <img src=x> [a](b) *c*\nx.cu(2): error: <b>|`````|\n"
    out = diagnosis_markdown.render(diagnose(io.BytesIO(text.encode()), "a|b`c`.log"))
    fences = [line for line in out.splitlines() if line.startswith("```")]
    assert len(fences) % 2 == 0
    assert "a\\|b\\`c\\`.log" in out


def test_markdown_calls_for_nobody() -> None:
    text = "ValueError: ask @somebody or a.b@example.org\n" * 2
    out = diagnosis_markdown.render(diagnose(io.BytesIO(text.encode()), "@team.log"))
    outside = out.split("```")[::2]
    assert "@team" not in "".join(outside)
    assert "a.b@example.org" not in out


def test_the_terminal_is_not_driven(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"\x1b]0;owned\x07x.cu(1): error: \x9b31m\xe2\x80\xae\x1b[2J bad \x08\x7f\n")
    assert run(["diagnose", str(path)]) == 0
    out = capsys.readouterr().out
    assert not {"\x1b", "\x9b", "\u202e", "\x08", "\x7f"} & set(out)
    assert "control sequences were removed" in out


def test_list_and_show(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", "--list"]) == 0
    out = capsys.readouterr().out
    assert len(out.splitlines()) == len(handbook.judged())
    assert run(["diagnose", "--show", "driver.compat.shadows"]) == 0
    assert "803" in capsys.readouterr().out
    assert run(["diagnose", "--list", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {each["id"] for each in document["signatures"]} == {e.id for e in handbook.judged()}


def test_show_names_what_is_close(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", "--show", "driver.compat.shadow"]) == 2
    assert "driver.compat.shadows" in capsys.readouterr().err


def test_handbook_has_every_cause_once() -> None:
    page = handbook.page()
    for each in known.signatures():
        expected = 1 if each.role in {"cause", "hint", "remark"} else 0
        assert page.count(f"### `{each.id}`\n") == expected
    assert "[[{" not in page
    assert "]]." not in page.replace("[[gpu]].", "")


def test_follow_tells_a_cause_when_it_appears() -> None:
    told: list[Cause] = []
    seen: list[int] = []

    def pieces() -> Iterator[bytes]:
        yield b"start\n"
        yield b""
        yield CEILING.encode()
        yield b""
        seen.append(len(told))
        yield b"more\n" + CEILING.encode()
        yield b""

    found = follow.follow(pieces(), "log", told.append)
    assert seen == [1]
    assert [each.id for each in told] == ["host.compiler.too-new"]
    assert found.named
    assert found.lines == 4


def test_follow_ends_with_interrupt() -> None:
    def pieces() -> Iterator[bytes]:
        yield CEILING.encode()
        raise KeyboardInterrupt

    found = follow.follow(pieces(), "log", lambda cause: None)
    assert found.named
    assert "ended by the user" in found.notes[-1]


def test_a_growing_file_is_read_on_and_again_when_it_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\n")
    pieces = follow.grown(path, idle=0)
    assert next(pieces) == b"one\n"
    assert next(pieces) == b""
    with path.open("ab") as file:
        file.write(b"two\n")
    assert next(pieces) == b"two\n"
    assert next(pieces) == b""
    path.write_bytes(b"new\n")
    assert next(pieces) == b"new\n"
    assert next(pieces) == b""
    (tmp_path / "other").write_bytes(b"rotated\n")
    (tmp_path / "other").replace(path)
    assert next(pieces) == b"rotated\n"
    pieces.close()  # type: ignore[attr-defined]


def test_a_pipe_is_followed_to_its_end() -> None:
    reader, writer = os.pipe()

    def write() -> None:
        os.write(writer, b"one\n")
        time.sleep(0.05)
        os.write(writer, CEILING.encode())
        os.close(writer)

    thread = threading.Thread(target=write)
    thread.start()
    pieces = list(follow.piped(reader, idle=0.01))
    thread.join()
    os.close(reader)
    assert b"".join(pieces) == b"one\n" + CEILING.encode()
    assert b"" in pieces


def test_a_compressed_file_cannot_be_followed(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(CEILING.encode()))
    assert run(["diagnose", str(path), "--follow"]) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("at /home/alice/x and /Users/bob", "at /home/<user>/x and /Users/<user>"),
        ("/root/x /opt/vllm/home", "/root/x /opt/vllm/home"),
        ("http://10.2.3.4:8000/v1", "http://<ip>:8000/v1"),
        ("driver version 95.02.66.00 is", "driver version 95.02.66.00 is"),
        ("listening on 127.0.0.1:80 and 0.0.0.0:80", "listening on 127.0.0.1:80 and 0.0.0.0:80"),
        ("https://me:pw@git.example/x", "https://<user>@git.example/x"),
        ("HF_TOKEN=hf_x1y2z3a4b5c6d7", "HF_TOKEN=<secret>"),
        ("'api_key': 'abc-def-123'", "'api_key': '<secret>'"),
        ("--api-key abc123 --port 1", "--api-key <secret> --port 1"),
        ("Authorization: Bearer abc.def", "Authorization: Bearer <secret>"),
        ("mail a.b@example.org now", "mail <address> now"),
        ("GPU-01234567-89ab-cdef-0123-456789abcdef", "GPU-<uuid>"),
        ("node7.prod.internal died", "<host> died"),
        ("max_num_batched_tokens=8192 dtype=x", "max_num_batched_tokens=8192 dtype=x"),
        ("mac 00:1a:2b:3c:4d:5e", "mac <mac>"),
    ],
)  # fmt: skip
def test_redaction(text: str, expected: str) -> None:
    assert redact(text) == expected


def test_known_names_are_redacted() -> None:
    assert redact("node7 said node77 to alice", "node7", "alice") == "<name> said node77 to <name>"


@given(st.text(max_size=200))
@settings(deadline=None)
def test_redaction_is_stable(text: str) -> None:
    once = redact(text)
    assert redact(once).count("\n") == text.count("\n")
