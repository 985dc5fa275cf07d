"""The single file: the same bytes each time, runs on its own, finds a Python that fits."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path
from types import ModuleType

import pytest
from tests.doctor.test_dependencies import closure

ROOT = Path(__file__).parents[1]
OLDEST_SYNTAX = (3, 6)


def module(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(path).stem.strip("_"), ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def copy_dependencies(target: Path) -> None:
    """Write the dependencies of this environment, as pip puts them into a directory."""
    for name in closure("dsv4-doctor") - {"dsv4-doctor"}:
        for file in distribution(name).files or ():
            if ".." not in file.parts and "__pycache__" not in file.parts:
                to = target / file
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(str(file.locate()), to)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    copy_dependencies(target)
    return target


@pytest.fixture(scope="module")
def pyz(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    builder = module("scripts/build_pyz.py")
    output = tmp_path_factory.mktemp("dist") / "dsv4-doctor.pyz"
    builder.write(output, dict(builder.contents(site)))
    return output


def run(
    pyz: Path, *arguments: str, python: str = sys.executable, **env: str
) -> subprocess.CompletedProcess[str]:
    # -I: nothing of this environment may help, only what is in the file.
    return subprocess.run(
        [python, "-I", str(pyz), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", **env},
    )


def test_the_same_content_gives_the_same_bytes(site: Path, tmp_path: Path) -> None:
    builder = module("scripts/build_pyz.py")
    entries = dict(builder.contents(site))
    first, second = tmp_path / "first", tmp_path / "second"
    builder.write(first, entries)
    old = os.umask(0o077)
    try:
        builder.write(second, dict(reversed(entries.items())))
    finally:
        os.umask(old)
    assert first.read_bytes() == second.read_bytes()


def test_no_trace_of_where_and_by_whom_it_was_made(pyz: Path) -> None:
    with zipfile.ZipFile(pyz) as archive:
        assert {each.date_time for each in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {each.external_attr >> 16 & 0o777 for each in archive.infolist()} == {0o644}
        for name in archive.namelist():
            assert not re.search(r"RECORD$|direct_url\.json$|\.pyc$|\.so$|^bin/", name)
            assert str(ROOT).encode() not in archive.read(name)


def test_it_takes_a_snapshot_and_unpacks_once(pyz: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    for _ in range(2):
        done = run(pyz, "snapshot", DSV4_DOCTOR_CACHE=str(cache))
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["schema"] == "dsv4-doctor/snapshot/1"
    [place] = cache.iterdir()
    assert (place / "dsv4_doctor/cli/main.py").is_file()


@pytest.mark.parametrize("cache", ["off", "/dev/null/no-directory"])
def test_it_runs_where_nothing_can_be_written(pyz: Path, cache: str) -> None:
    done = run(pyz, "check", "--for", "build", "--arch", "sm_90", "--format", "json",
               DSV4_DOCTOR_CACHE=cache)  # fmt: skip
    assert json.loads(done.stdout)["schema"] == "dsv4-doctor/report/1", done.stderr


def test_code_that_others_can_change_is_not_run(pyz: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert run(pyz, "--version", DSV4_DOCTOR_CACHE=str(cache)).returncode == 0
    [place] = cache.iterdir()
    (place / "dsv4_doctor/__init__.py").write_text('__version__ = "planted"\n')
    assert "planted" in run(pyz, "--version", DSV4_DOCTOR_CACHE=str(cache)).stdout
    place.chmod(0o777)
    assert "planted" not in run(pyz, "--version", DSV4_DOCTOR_CACHE=str(cache)).stdout


def test_any_python_3_can_read_what_runs_first() -> None:
    text = (ROOT / "scripts/pyz/__main__.py").read_text(encoding="utf-8")
    tree = ast.parse(text, feature_version=OLDEST_SYNTAX)
    newer = (ast.JoinedStr, ast.NamedExpr, ast.AnnAssign)
    assert [node.lineno for node in ast.walk(tree) if isinstance(node, newer)] == []


def with_floor(pyz: Path, tmp_path: Path, floor: tuple[int, int]) -> Path:
    """Return the archive as if the doctor needed another Python."""
    changed = tmp_path / "floor.pyz"
    with zipfile.ZipFile(pyz) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            text = old.read(name)
            if name == "__main__.py":
                text = text.replace(b"FLOOR = (3, 10)", f"FLOOR = {floor}".encode())
            new.writestr(name, text)
    return changed


def test_a_newer_python_beside_an_old_one_takes_over(pyz: Path, tmp_path: Path) -> None:
    wanted = (3, 19)
    places = tmp_path / "bin"
    places.mkdir()
    fake = places / "python3.19"
    fake.write_text('#!/bin/sh\n[ "$2" = -c ] && exit 0\necho "3.19 runs $2"\n')
    broken = places / "python3.20"
    broken.write_text("#!/bin/sh\nexit 1\n")
    for each in (fake, broken):
        each.chmod(0o755)
    done = run(with_floor(pyz, tmp_path, wanted), "check", PATH=str(places))
    assert done.stdout.strip() == "3.19 runs check"


def test_where_no_python_fits_the_package_that_brings_one_is_named(
    pyz: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run(with_floor(pyz, tmp_path, (3, 98)), "check")
    assert done.returncode == 4
    assert "needs Python >= 3.98" in done.stderr
    started = module("scripts/pyz/__main__.py")
    release = tmp_path / "os-release"
    monkeypatch.setattr(started, "OS_RELEASE", str(release))
    for text, package in (
        ('ID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.4"\n', "dnf install python3.12"),
        ("ID=ubuntu\nID_LIKE=debian\n", "Ubuntu 22.04"),
        ("", "install Python 3.10"),
    ):
        release.write_text(text)
        assert package in started.advice()


def test_the_lock_holds_every_dependency_with_hashes() -> None:
    lock = (ROOT / "scripts/pyz/requirements.txt").read_text(encoding="utf-8")
    locked = set(re.findall(r"^([a-z0-9-]+)==\S+ \\$", lock, re.MULTILINE))
    assert closure("dsv4-doctor") - {"dsv4-doctor"} - locked == set()
    assert len(locked) <= lock.count("--hash=sha256:")
