"""``dsv4-doctor fleet`` as a user calls it."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.doctor.binary.test_schema import schema
from tests.doctor.fleet.fleets import absence, machine, report_of, without_headers, write

from dsv4_doctor.cli.main import run
from dsv4_doctor.codec import dump_snapshot

TARGET = ["--vllm", "0.24.0", "--arch", "sm_90", "--feature", "fa3", "--for", "build"]


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    return write(
        tmp_path / "fleet",
        {
            "n1.json": machine("n1"),
            "n2.json": without_headers("n2"),
            "n3.json": report_of(without_headers("n3")),
            "n4.json": absence("n4", "unreachable: no route to host"),
            "n5.json": '{"schema": "dsv4-doctor/snapshot/1", "taken_at": "2026',
            "notes.txt": "not a document",
        },
    )


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    status = run(["fleet", "report", *arguments, "--format", "json", *TARGET])
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    jsonschema.validate(data, schema("fleet-1.json"))
    return status, data


def test_everything_is_counted_and_named(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, data = report(capsys, str(fleet))
    assert status == 1
    assert data["summary"] == {
        "hosts": 4, "pass": 1, "fail": 3, "unknown": 0,
        "without report": 1, "missing": 0, "not read": 1, "duplicates": 0,
    }  # fmt: skip
    assert [(each["id"], each["hosts"]) for each in data["groups"] if each["status"] == "fail"] == [
        ("python.headers.present", 2),
        ("fleet.host.reached", 1),
    ]
    [refused] = data["refused"]
    assert refused["origin"].endswith("n5.json")
    assert "cut short" in refused["reason"]


def test_text_names_each_group_with_hosts_and_remedy(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["fleet", "report", str(fleet), *TARGET]) == 1
    text = capsys.readouterr().out
    assert "✗ Python.h of Python 3.12.3 is missing  python.headers.present  2 hosts" in text
    assert "n[2-3]" in text
    assert "apt-get install -y python3.12-dev" in text
    assert "unreachable: no route to host" in text
    # A path is folded where the line ends, which depends on the directory.
    assert "n5.json:notJSON,orcutshort" in "".join(text.split())
    assert "verdict: fail" in text


def test_json_lines_from_standard_input(tmp_path: Path) -> None:
    lines = "".join(
        f"{json.dumps(json.loads(dump_snapshot(machine(name))))}\n" for name in ("n1", "n2")
    )
    done = subprocess.run(
        [sys.executable, "-m", "dsv4_doctor", "fleet", "report", "-", "--format", "csv", *TARGET],
        input=f"{lines}{{broken\n",
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    rows = list(csv.DictReader(io.StringIO(done.stdout, newline="")))
    assert {row["host"] for row in rows} == {"n1", "n2"}
    assert done.returncode == 3, done.stderr


def test_missing_hosts_fail_the_fleet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fleet = write(tmp_path / "fleet", {"n1.json": machine("n1")})
    expected = tmp_path / "hosts"
    expected.write_text("n1\nn2\n", encoding="utf-8")
    assert report(capsys, str(fleet))[0] == 0
    status, data = report(capsys, str(fleet), "--expect", str(expected))
    assert status == 1
    assert data["missing"] == ["n2"]


def test_another_target_is_judged_without_any_host(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["fleet", "check", str(fleet), "--vllm", "0.33.0", "--arch", "sm_100"]
    status = run([*command, "--for", "build", "--format", "json"])
    data = json.loads(capsys.readouterr().out)
    assert status == 1
    assert "0.33.0" in data["target"]
    refused = {Path(each["origin"]).name: each["reason"] for each in data["refused"]}
    assert "cannot be judged anew" in refused["n3.json"]
    assert "arch.gpu.match" in {each["id"] for each in data["groups"]}


def test_hosts_as_lines_as_they_are_judged(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["fleet", "check", str(fleet), *TARGET, "--format", "jsonl"]
    assert run(command) == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    by_file = {Path(each["origin"]).name: each for each in lines}
    assert list(by_file) == ["n1.json", "n2.json", "n3.json", "n4.json", "n5.json"]
    assert by_file["n1.json"]["verdict"] == "pass"
    assert by_file["n2.json"]["fail"] == ["python.headers.present"]
    assert "cannot be judged anew" in by_file["n3.json"]["not_read"]
    assert by_file["n4.json"]["problem"] == "unreachable: no route to host"
    assert "cut short" in by_file["n5.json"]["not_read"]
    assert run([*command, "--output", "x"]) == 2
    assert run(["fleet", "report", str(fleet), "--format", "jsonl"]) == 2


def test_a_check_without_a_target_is_a_usage_error(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["fleet", "check", str(fleet)]) == 2
    assert "give --vllm, --arch or --feature" in capsys.readouterr().err


def test_lists_for_schedulers(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lists = fleet.parent / "lists"
    run(["fleet", "report", str(fleet), "--lists", str(lists), *TARGET])
    assert (lists / "healthy.limit").read_text(encoding="utf-8") == "n1\n"
    assert (lists / "sick.limit").read_text(encoding="utf-8") == "n2\nn3\nn4\n"
    assert (lists / "sick.nodelist").read_text(encoding="utf-8") == "n[2-4]\n"
    assert (lists / "sick.nodes").read_text(encoding="utf-8") == "n2 n3 n4\n"
    assert "healthy.limit" in capsys.readouterr().err


def test_a_name_that_no_host_can_have_is_in_no_list(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet = write(tmp_path / "fleet", {"a.json": machine("n1"), "b.json": machine("--all; n2")})
    run(["fleet", "report", str(fleet), "--lists", str(tmp_path / "lists"), *TARGET])
    assert (tmp_path / "lists/healthy.limit").read_text(encoding="utf-8") == "n1\n"
    assert "'--all; n2'" in capsys.readouterr().err


def test_a_picture_is_written_whole(fleet: Path) -> None:
    page = fleet.parent / "fleet.html"
    assert (
        run(["fleet", "report", str(fleet), "--format", "html", "--output", str(page), *TARGET])
        == 1
    )
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert list(fleet.parent.glob(".fleet*")) == []


def test_text_that_no_encoding_has(tmp_path: Path) -> None:
    data = json.loads(dump_snapshot(without_headers("n1")))
    data["python"]["version"] = "3.12\ud800"
    fleet = write(tmp_path / "fleet", {"n1.json": data})
    for form in ("text", "json", "csv", "markdown", "html"):
        done = subprocess.run(
            [sys.executable, "-m", "dsv4_doctor", "fleet", "report", str(fleet), "--format", form],
            capture_output=True,
            check=False,
        )
        assert done.returncode == 1, done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere: No such file"),
        (["."], "no .json or .jsonl or .ndjson file in ."),
    ],
)
def test_nothing_to_read_is_a_usage_error(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["fleet", "report", *arguments]) == 2
    assert message in capsys.readouterr().err
