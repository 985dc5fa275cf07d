"""The command line of sources, from pull to a build on a machine without a network."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.build import planning
from tests.build.conftest import command
from tests.build.sources.archives import vllm_sdist
from tests.build.sources.upstream import Upstream
from tests.doctor import machines

from dsv4_build import tree as trees
from dsv4_build.sources import offered, pull
from dsv4_doctor.cli.building import take_facts
from dsv4_doctor.knowledge import load


@pytest.fixture
def sdist(tmp_path: Path, upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An sdist that fetches the project and nothing else, and caches of two machines."""
    release = replace(load.release("0.24.0"), external_projects=(upstream.project(),))
    for module in (trees, pull, offered):
        monkeypatch.setattr(module, "requirements", lambda *_: (release, ()))
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "file")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "here"))
    return vllm_sdist(tmp_path)


def test_sources_go_from_one_machine_to_another(
    sdist: Path, upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vllm = ("--vllm", str(sdist))
    pulled = command("sources", "pull", *vllm, "--mirror", str(upstream.mirror))
    assert pulled.status == 0, pulled.stderr
    assert "outer/third_party/inner/deep" in pulled.stdout
    bundle = tmp_path / "sources.tar.xz"
    packed = command("sources", "pack", str(bundle), *vllm)
    assert packed.status == 0, packed.stderr
    assert "1 sdists and 4 repositories" in packed.stdout
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "there"))
    imported = command("sources", "import", str(bundle))
    assert imported.status == 0, imported.stderr
    assert "github.com/example/deep.git" in imported.stdout
    verified = command("sources", "verify")
    assert (verified.status, verified.stdout.count("MiB")) == (0, 5)
    again = command("sources", "pull", *vllm, "--format", "json")
    data = json.loads(again.stdout)
    assert (data["complete"], len(data["pins"])) == (True, 4)


def test_what_cannot_be_had_is_named(sdist: Path) -> None:
    done = command("sources", "pull", "--vllm", str(sdist))
    assert done.status == 1
    assert "missing: https://github.com/Example/outer.git v1" in done.stdout
    assert "not allowed" in done.stdout
    assert "outer" not in command("sources", "list").stdout


def test_nothing_incomplete_is_packed(sdist: Path, tmp_path: Path) -> None:
    done = command("sources", "pack", str(tmp_path / "x.tar"), "--vllm", str(sdist))
    assert done.status == 1
    assert "sources are missing:\n  outer: https://github.com/Example/outer.git v1" in done.stderr
    assert f"sources pull --vllm {sdist}" in done.stderr
    assert not (tmp_path / "x.tar").exists()


def test_a_damaged_cache_is_told_apart(sdist: Path, upstream: Upstream, tmp_path: Path) -> None:
    command("sources", "pull", "--vllm", str(sdist), "--mirror", str(upstream.mirror))
    sources = tmp_path / "here" / "dsv4-doctor" / "sources"
    (archive,) = (sources / "sdists").rglob("*.tar.gz")
    archive.write_bytes(archive.read_bytes()[:-1] + b"x")
    objects = (sources / "git/github.com/example/deep.git/objects").glob("??/*")
    largest = max(objects, key=lambda each: each.stat().st_size)
    largest.chmod(0o644)
    content = bytearray(largest.read_bytes())
    content[len(content) // 2] ^= 0xFF
    largest.write_bytes(content)
    done = command("sources", "verify", "--format", "json")
    assert done.status == 1
    errors = {each["name"]: each["error"] for each in json.loads(done.stdout)["entries"]}
    wrong = sorted(name.rpartition("/")[2] for name, error in errors.items() if error)
    assert wrong == ["deep.git", "vllm-0.24.0.tar.gz"]
    assert command("sources", "list").status == 0


def test_a_lock_of_the_smoke_tree_is_written_and_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    lock = tmp_path / "dsv4-build.lock"
    arguments = ("sources", "lock", "--recipe", "smoke", "--toolchain", "pypi")
    done = command(*arguments, "--arch", "sm_90", "--output", str(lock))
    assert (done.status, done.stdout) == (0, f"{lock}\n"), done.stderr
    assert json.loads(lock.read_text())["archs"] == ["sm_90"]
    checked = command(*arguments, "--arch", "sm_90", "--output", str(lock), "--check")
    assert checked.status == 0, checked.stderr
    other = command(*arguments, "--arch", "sm_80", "--output", str(lock), "--check")
    assert other.status == 1
    assert "- archs: sm_90\n  + archs: sm_80" in other.stderr


def test_offline_a_build_names_the_source_that_is_missing(sdist: Path, tmp_path: Path) -> None:
    python = str(Path("/usr/bin/python3"))
    arguments = ("build", "--vllm", str(sdist), "--arch", "sm_90", "--offline", "--python", python)
    done = command(*arguments, "--toolchain", "pypi", "--out", str(tmp_path / "out"))
    assert done.status == 1
    assert "outer: https://github.com/Example/outer.git v1" in done.stderr
    assert "dsv4-doctor sources pull --vllm 0.24.0" in done.stderr


def test_a_release_that_the_cache_has_is_built_by_its_name(
    sdist: Path, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    pulled = command(
        "sources",
        "pull",
        "--vllm",
        str(sdist),
        "--mirror",
        str(upstream.mirror),
        "--format",
        "json",
    )
    digest = json.loads(pulled.stdout)["archive"]["sha256"]
    known = replace(load.release("0.24.0"), sdist_sha256=digest)
    monkeypatch.setattr(load, "release", lambda _: known)
    done = command("build", "--vllm", "0.24.0", "--arch", "sm_90", "--plan", "--toolchain", "pypi")
    assert done.status == 0, done.stderr
    assert "outer/third_party/inner/deep" in done.stdout
    assert "cut off in the compile steps" in done.stdout or "does not allow" in done.stdout


def test_the_torch_beside_the_doctor_says_nothing_of_an_environment_to_be_made(
    sdist: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = machines.healthy()
    assert own.python is not None
    assert own.python.torch is not None
    monkeypatch.setattr("dsv4_doctor.probes.registry.take_snapshot", lambda _: own)
    named = planning.vllm_request(sdist, python="/venv/bin/python")
    assert take_facts(named) is own
    found = take_facts(planning.vllm_request(sdist)).python
    assert found is not None
    assert found.torch is None
    assert take_facts(planning.request()) is own
