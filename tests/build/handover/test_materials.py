from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from packageurl import PackageURL
from tests.build import planning
from tests.build.handover import made

from dsv4_build.choices import Choices
from dsv4_build.handover.materials import Material, collect, package_url
from dsv4_build.plan import Plan
from dsv4_build.publish import sha256
from dsv4_doctor.errors import BuildError

INSTALLED = {"setuptools": "80.9.0", "cmake": "4.0.0", "torch": "2.11.0+cu130", "jinja2": None}


def _git(place: Path, *arguments: str) -> str:
    name = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]
    argv = ["git", *name, "-C", str(place), *arguments]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


def _repository(place: Path) -> str:
    place.mkdir(parents=True)
    _git(place, "init", "-q")
    (place / "file").write_text(place.name)
    _git(place, "add", ".")
    _git(place, "commit", "-q", "-m", "first")
    return _git(place, "rev-parse", "HEAD")


def _here(plan: Plan, tmp_path: Path) -> Plan:
    """The plan with programs that exist."""
    program = tmp_path / "program"
    program.write_bytes(b"program")
    choices: Choices = replace(
        plan.choices,
        compiler=replace(plan.choices.compiler, cxx=str(program)),
        python=replace(plan.choices.python, executable=str(program)),
        tools=tuple(replace(tool, path=str(program)) for tool in plan.choices.tools),
    )
    return replace(plan, choices=choices)


def _collect(plan: Plan, tmp_path: Path) -> dict[str, Material]:
    found = collect(_here(plan, tmp_path), tmp_path / "deps", dict(INSTALLED))
    assert len({each.name for each in found}) == len(found)
    return {each.name: each for each in found}


def test_a_checkout_tells_its_commit_and_those_of_its_submodules(tmp_path: Path) -> None:
    cutlass = _repository(tmp_path / "cutlass")
    _repository(tmp_path / "unused")
    project = tmp_path / "deps" / "vllm-flash-attn-src"
    _repository(project)
    for name, path in (("cutlass", "csrc/cutlass"), ("unused", "third_party/unused")):
        add = ("submodule", "add", "-q", "--name", f"the {name}", str(tmp_path / name), path)
        _git(project, *add)
    _git(project, "commit", "-q", "-m", "submodules")
    _git(project, "submodule", "deinit", "-q", "-f", "third_party/unused")
    found = _collect(made.plan(tmp_path), tmp_path)
    assert found["vllm-flash-attn"].digest == ("gitCommit", _git(project, "rev-parse", "HEAD"))
    module = found["vllm-flash-attn/csrc/cutlass"]
    assert (module.digest, module.parent) == (("gitCommit", cutlass), "vllm-flash-attn")
    assert module.url == str(tmp_path / "cutlass")
    assert not any("unused" in name for name in found)


def test_a_project_that_was_not_fetched_here_has_what_the_release_pins(tmp_path: Path) -> None:
    found = _collect(made.plan(tmp_path), tmp_path)
    cutlass = found["cutlass"]
    assert (cutlass.version, cutlass.digest) == ("v4.4.2", ("", ""))
    assert cutlass.purl == "pkg:github/nvidia/cutlass@v4.4.2"
    pinned = found["flashmla"]
    assert pinned.digest == ("gitCommit", pinned.version)


def test_a_broken_checkout_is_said_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "deps" / "cutlass-src" / ".git").mkdir(parents=True)
    with pytest.raises(BuildError, match="its commit cannot be told"):
        _collect(made.plan(tmp_path), tmp_path)


def test_the_toolkit_of_pypi_has_the_digests_of_its_parts(tmp_path: Path) -> None:
    plan = planning.plan(tmp_path, toolchain="pypi")
    found = _collect(plan, tmp_path)
    selection = plan.choices.toolchain.selection
    assert selection is not None
    for part in selection.parts:
        assert found[part.name].digest == ("sha256", part.sha256["x86_64"])


def test_programs_have_the_digest_of_their_bytes(tmp_path: Path) -> None:
    found = _collect(planning.plan(tmp_path), tmp_path)
    digest = ("sha256", sha256(tmp_path / "program"))
    assert {found[name].digest for name in ("g++", "python", "cmake", "ninja")} == {digest}
    assert found["g++"].purl == "pkg:generic/g%2B%2B@12.2.0"


def test_the_environment_has_what_is_installed_and_no_tool_twice(tmp_path: Path) -> None:
    found = _collect(planning.plan(tmp_path), tmp_path)
    assert found["torch"].purl == "pkg:pypi/torch@2.11.0%2Bcu130"
    assert found["setuptools"].version == "80.9.0"
    assert "jinja2" not in found
    assert found["cmake"].purl.startswith("pkg:generic/")


def test_an_isolated_environment_has_the_hashes_that_it_was_made_with(tmp_path: Path) -> None:
    lines = f"setuptools==80.9.0 --hash=sha256:{'a' * 64}\nwheel==0.45.1"
    lines += f" --hash=sha256:{'b' * 64} --hash=sha256:{'c' * 64}\ncmake==4.0.0"
    lines += f" --hash=sha256:{'d' * 64}\n"
    found = _collect(replace(planning.plan(tmp_path), resolution=lines), tmp_path)
    assert found["setuptools"].digest == ("sha256", "a" * 64)
    assert found["wheel"].digest == ("", "")
    assert "torch" not in found
    assert found["cmake"].purl.startswith("pkg:generic/")


def test_a_tool_that_is_gone_is_a_build_that_failed(tmp_path: Path) -> None:
    plan = _here(planning.plan(tmp_path), tmp_path)
    (tmp_path / "program").unlink()
    with pytest.raises(BuildError, match="what the wheel was made with cannot be read"):
        collect(plan, tmp_path / "deps", {})


def test_package_urls_are_read_by_their_own_library() -> None:
    read = PackageURL.from_string(package_url("generic", "cuda/bin/cudafe++", "13.0+x"))
    assert (read.namespace, read.name, read.version) == ("cuda/bin", "cudafe++", "13.0+x")
