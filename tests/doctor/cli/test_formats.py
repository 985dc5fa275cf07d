"""``check --format`` and ``--output``: every format from the command line, and plugin statuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.doctor.machines import bare, failed, healthy

from dsv4_doctor import evaluation
from dsv4_doctor.cli.check import ReportFormat
from dsv4_doctor.cli.main import run
from dsv4_doctor.codec import dump_snapshot
from dsv4_doctor.snapshot import Snapshot

BUILD = ("--for", "build", "--arch", "sm_90")
FORMATS = [each.value for each in ReportFormat]


def store(path: Path, snapshot: Snapshot) -> str:
    path.write_text(dump_snapshot(snapshot), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_holds_what_standard_output_would(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["check", "--from", store(tmp_path / "s.json", bare()), *BUILD, "--format", form]
    status = run(arguments)
    shown = capsys.readouterr()
    assert shown.err == ""
    assert shown.out.endswith("\n")
    assert status == (2 if form == "nagios" else 1)
    written = tmp_path / "report"
    assert run([*arguments, "--output", str(written)]) == status
    assert capsys.readouterr().out == ""
    assert written.read_text(encoding="utf-8") == shown.out
    assert {entry.name for entry in tmp_path.iterdir()} == {"s.json", "report"}


def test_a_place_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["check", "--from", store(tmp_path / "s.json", bare()), "--output"]
    assert run([*arguments, str(tmp_path / "no" / "report"), "--format", "json"]) == 2
    assert "cannot write here" in capsys.readouterr().err


@pytest.mark.parametrize("form", FORMATS)
def test_undecodable_text_of_a_machine_is_written_out(
    form: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    python = healthy().python
    assert python is not None
    machine = healthy(python=replace(python, version="3.12.3\udc80", executable="/x\udc80"))
    text = dump_snapshot(machine).encode("utf-8", "backslashreplace")
    path = tmp_path / "s.json"
    path.write_bytes(text)
    command = [sys.executable, "-m", "dsv4_doctor", "check", "--from", str(path), "--format", form]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode in {0, 1, 2, 3}, done.stderr.decode()
    assert b"Traceback" not in done.stderr
    done.stdout.decode("utf-8")
    if form == "json":
        found = json.loads(done.stdout)["findings"]
        assert any("\udc80" in each["found"] for each in found)


@pytest.mark.parametrize("form", FORMATS)
def test_a_terminal_that_knows_only_ascii(form: str, tmp_path: Path) -> None:
    path = store(tmp_path / "s.json", bare())
    command = [sys.executable, "-m", "dsv4_doctor", "check", "--from", path, *BUILD]
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*command, "--format", form], capture_output=True, check=False, env=env)
    assert done.returncode == (2 if form == "nagios" else 1), done.stderr.decode()
    assert b"cuda.toolkit.present" in done.stdout


@pytest.mark.parametrize(
    ("snapshot", "options", "status"),
    [
        (healthy(), (), 1),
        (healthy(), ("--ignore", "cuda.home.symlink"), 0),
        (healthy(), ("--strict",), 2),
        (bare(), (), 2),
        (failed(healthy(), "gpus", "no answer within 5 s"), (), 3),
    ],
)
def test_a_plugin_has_the_statuses_of_plugins(
    snapshot: Snapshot, options: tuple[str, ...], status: int, tmp_path: Path
) -> None:
    path = store(tmp_path / "s.json", snapshot)
    assert run(["check", "--from", path, *BUILD, "--format", "nagios", *options]) == status


def test_a_plugin_that_cannot_check_says_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["check", "--format", "nagios", "--from"]
    assert run([*arguments, str(tmp_path / "none.json")]) == 3
    assert capsys.readouterr().out.startswith("DSV4_DOCTOR UNKNOWN - ")
    assert run([*arguments, store(tmp_path / "s.json", bare()), "--vllm", "0.99"]) == 3
    assert "unknown vLLM release" in capsys.readouterr().out

    def broken(*_: object) -> None:
        msg = "a fault"
        raise RuntimeError(msg)

    monkeypatch.setattr(evaluation, "evaluate", broken)
    assert run([*arguments, str(tmp_path / "s.json")]) == 3
    output = capsys.readouterr()
    assert output.out == "DSV4_DOCTOR UNKNOWN - a fault\n"
    assert "Traceback" in output.err


def loaded_by(arguments: list[str]) -> set[str]:
    """Return the modules that are loaded after a run of the command in a process of its own."""
    program = (
        "import sys; from dsv4_doctor.cli.main import run;"
        f" run({arguments!r}); print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    return set(done.stderr.decode().splitlines()[-1].split())


@pytest.mark.parametrize("form", [form for form in FORMATS if form != "text"])
def test_what_programs_read_waits_for_no_rich(form: str, tmp_path: Path) -> None:
    path = store(tmp_path / "s.json", bare())
    loaded = loaded_by(["check", "--from", path, "--format", form])
    assert "dsv4_doctor.evaluation" in loaded
    assert [name for name in loaded if name.split(".")[0] == "rich"] == []


def test_a_live_check_loads_nothing_that_it_does_not_need() -> None:
    loaded = loaded_by(["check", "--format", "json", "--python", sys.executable])
    assert "dsv4_doctor.probes.toolkit" in loaded
    # Each of these takes milliseconds, and none of them knows anything of a GPU. distro brings
    # logging and argparse.
    slow = {
        *("rich", "dacite", "asyncio", "concurrent.futures", "email"),
        *("importlib.resources", "importlib.metadata", "multiprocessing", "tempfile", "zipfile"),
    }
    assert loaded & slow == set()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_behind_standard_output(tmp_path: Path) -> None:
    path = store(tmp_path / "s.json", bare())
    command = [sys.executable, "-m", "dsv4_doctor", "check", "--from", path, "--format", "json"]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(b"error: standard output: cannot write: No space left")


def test_closed_streams(tmp_path: Path) -> None:
    path = store(tmp_path / "s.json", bare())
    line = f"exec '{sys.executable}' -m dsv4_doctor check --from '{path}' --format json >&- 2>&-"
    assert subprocess.run(["/bin/sh", "-c", line], check=False).returncode == 1


def test_a_reader_that_goes_early(tmp_path: Path) -> None:
    path = store(tmp_path / "s.json", bare())
    line = f"'{sys.executable}' -m dsv4_doctor check --from '{path}' --format json | head -c 1"
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, check=False)
    assert (done.stdout, done.stderr) == (b"{", b"")
