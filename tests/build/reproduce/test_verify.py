from __future__ import annotations

import json
import os
import shutil
import zipfile
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from tests.build import planning
from tests.build.conftest import command

from dsv4_build.planner import make_plan
from dsv4_build.process import Job
from dsv4_build.progress import Progress
from dsv4_build.reproduce import diffoscope, text, verify
from dsv4_build.reproduce.child import _request, order
from dsv4_build.reproduce.circumstances import Circumstances, plain
from dsv4_build.reproduce.verify import Verdict
from dsv4_doctor.errors import BuildError


def _verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, contents: dict[int, dict[str, bytes]]
) -> Verdict:
    """Compare two builds that are only what they leave behind."""

    def build(run: object, number: int, what: Circumstances) -> dict[str, Any]:
        base = Path(what.base)
        (base / "work" / "source").mkdir(parents=True)
        (base / "out").mkdir()
        (base / "out" / "build-report.json").write_text(str(base))
        for name, content in contents[number].items():
            with zipfile.ZipFile(base / "out" / name, "w") as wheel:
                wheel.writestr("demo/a.py", content)
        return {"plan": {"work": str(base / "work")}}

    monkeypatch.setattr(verify, "_build", build)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(verify, "compile_clock", lambda compiler, directory: "")
    request = planning.request(out=tmp_path / "out")
    around = planning.around(tmp_path)
    plan = make_plan(request, planning.machine(), around)
    return verify.verify(request, around, plan, Progress(StringIO()))


def test_the_same_bytes_are_handed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    same = {"demo-1.0-py3-none-any.whl": b"1"}
    verdict = _verified(tmp_path, monkeypatch, {1: same, 2: same})
    assert verdict.same
    (artifact,) = verdict.artifacts
    assert artifact.path == str(tmp_path / "out" / artifact.name)
    assert Path(artifact.path).is_file()
    assert "the same bytes under" in text.render(verdict)
    assert not list((tmp_path / "cache" / "reproduce").rglob("*"))
    document = json.loads(json.dumps(verdict.to_json()))
    assert (document["schema"], document["same"]) == ("dsv4-doctor/reproducibility/1", True)


def test_what_differs_is_said_and_kept_and_not_handed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = "demo-1.0-py3-none-any.whl", "more-1.0-py3-none-any.whl"
    first, second = {names[0]: b"1", names[1]: b"1"}, {names[0]: b"2"}
    verdict = _verified(tmp_path, monkeypatch, {1: first, 2: second})
    assert not verdict.same
    assert verdict.artifacts == ()
    assert not (tmp_path / "out").exists()
    (difference,) = verdict.differences
    assert [each.name for each in difference.files] == ["demo/a.py"]
    shown = text.render(verdict)
    assert f"DIFFERS   {names[0]}" in shown
    assert "not there" in shown
    assert "demo/a.py" in shown
    for which in ("first", "second"):
        assert (Path(verdict.kept) / which / "build-report.json").is_file()
        assert (Path(verdict.kept) / which / names[0]).is_file()


def test_two_builds_of_nothing_are_not_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not _verified(tmp_path, monkeypatch, {1: {}, 2: {}}).same


def test_a_build_that_fails_is_an_error(tmp_path: Path) -> None:
    request = planning.request(out=tmp_path / "out", vllm=str(tmp_path))
    around = planning.around(tmp_path)
    plan = make_plan(planning.request(), planning.machine(), around)
    with pytest.raises(BuildError, match="name two trees"):
        verify.verify(request, around, plan, Progress(StringIO()))


def test_no_compiler_cache_gives_the_second_build_the_objects_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders: list[dict[str, Any]] = []

    def run(job: Job, on_line: object) -> None:
        file = Path(job.argv[-1])
        orders.append(json.loads(file.read_text()))
        file.with_suffix(".built").write_text("{}")

    monkeypatch.setattr(verify, "run_logged", run)
    request = planning.request(cache="ccache", cache_remote="redis://cache")
    both = verify._Run(request, planning.around(tmp_path), "own", Progress(StringIO()))
    verify._build(both, 1, plain(tmp_path, 2))
    (told,) = orders
    assert (told["request"]["cache"], told["request"]["cache_remote"]) == ("off", None)
    assert told["request"]["clean"]


def test_an_order_says_the_whole_request(tmp_path: Path) -> None:
    request = planning.request(
        out=tmp_path / "out", work_dir=tmp_path / "work", only=("a.cu", "b.cu"), force=("x.y",)
    )
    told = json.loads(json.dumps(order(request, planning.around(tmp_path), plain(tmp_path, 2))))
    assert _request(told["request"], told["paths"]) == request


def test_neither_build_takes_objects_from_a_cache_and_no_file_has_its_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_logged(job: Job, on_line: object) -> None:
        Path(job.argv[-1]).with_suffix(".built").write_text("{}")

    monkeypatch.setattr(verify, "run_logged", run_logged)
    request = planning.request(cache="ccache", cache_remote="redis://:hunter2@cache.example")
    run = verify._Run(request, planning.around(tmp_path), "own", Progress(StringIO()))
    what = plain(tmp_path, 2)
    Path(what.base).mkdir(parents=True, exist_ok=True)
    verify._build(run, 1, what)
    (file,) = tmp_path.rglob("order.json")
    assert "hunter2" not in file.read_text()
    assert json.loads(file.read_text())["request"]["cache"] == "off"


def test_an_environment_is_under_another_path_in_each_build(tmp_path: Path) -> None:
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    python = tmp_path / "venv" / "bin" / "python"
    python.touch()
    (tmp_path / "a").mkdir()
    found = verify._python_at(tmp_path / "a", str(python))
    assert found == str(tmp_path / "a" / "environment" / "bin" / "python")
    assert Path(found).samefile(python)
    assert verify._python_at(tmp_path, "/usr/bin/python3") == "/usr/bin/python3"
    assert verify._python_at(tmp_path, None) is None


def test_order_in_a_directory_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for which in ("a", "b"):
        (tmp_path / which / "source" / "deep").mkdir(parents=True)
    assert not verify._reordered(tmp_path / "a", tmp_path / "b")
    listed = {"a": ["x", "y", "only-a"], "b": ["y", "only-b", "x"]}
    monkeypatch.setattr(
        os, "listdir", lambda path: listed[Path(path).relative_to(tmp_path).parts[0]]
    )
    assert verify._reordered(tmp_path / "a", tmp_path / "b")
    listed["b"] = ["x", "only-b", "y"]
    assert not verify._reordered(tmp_path / "a", tmp_path / "b")


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ('echo "--- $4"; exit 1', "--- 20000\n"),
        ("echo broken >&2; exit 2", "broken"),
    ],
)
def test_diffoscope_is_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, expected: str
) -> None:
    program = tmp_path / "diffoscope"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: str(program))
    assert diffoscope.diffoscope(tmp_path, tmp_path) == expected


@pytest.mark.real
def test_the_smoke_tree_gives_the_same_bytes_whatever_is_around_it(
    real_cache: Path, tmp_path: Path
) -> None:
    arguments = ("build", "--recipe", "smoke", "--arch", "sm_90", "--out", str(tmp_path / "out"))
    done = command(*arguments, "--verify-reproducible", "--format", "json")
    assert done.status == 0, done.stdout + done.stderr
    verdict = json.loads(done.stdout)
    assert verdict["same"]
    always = {"umask", "locale", "timezone", "time"}
    assert always <= {each["name"] for each in verdict["variations"] if each["varied"]}
    (artifact,) = verdict["artifacts"]
    assert Path(artifact["path"]).is_file()
