"""A whole Python environment, read from files that we write."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from tests.doctor.probes.fakes import program
from tests.doctor.probes.test_site_packages import install

from dsv4_doctor.probes import python_environment, triton
from dsv4_doctor.probes.interpreter import InterpreterError
from dsv4_doctor.probes.registry import Request

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """A virtual environment with torch, whose base installation has no headers."""
    prefix = tmp_path / "venv"
    site = prefix / "lib/python3.12/site-packages"
    install(site, "torch-2.11.0")
    (site / "torch").mkdir()
    (site / "torch/version.py").write_text("__version__ = '2.11.0+cu130'\ncuda: str = '13.0'\n")
    answer = ("3.12.3", str(prefix), f"{tmp_path}/base", "", [str(site)])
    program(prefix / "bin/python", f'echo "{answer!r}"')
    return prefix


def test_an_environment_with_torch(venv: Path) -> None:
    found = python_environment.survey({}, f"{venv}/bin/python")
    assert (found.executable, found.chosen_by) == (f"{venv}/bin/python", "--python")
    assert (found.version, found.prefix) == ("3.12.3", str(venv))
    torch = found.distribution("torch")
    assert torch is not None
    assert torch.version == "2.11.0"
    assert found.torch is not None
    assert (found.torch.version, found.torch.cuda) == ("2.11.0+cu130", "13.0")
    assert found.binaries == ()


def test_an_activated_environment(venv: Path) -> None:
    found = python_environment.survey({"VIRTUAL_ENV": str(venv)}, None)
    assert (found.chosen_by, found.prefix) == ("VIRTUAL_ENV", str(venv))


def test_headers_where_they_should_be(venv: Path, tmp_path: Path) -> None:
    expected = tmp_path / "base/include/python3.12"
    found = python_environment.survey({}, str(venv))
    assert (found.headers, found.headers_expected) == (None, str(expected))
    expected.mkdir(parents=True)
    (expected / "Python.h").write_text("")
    assert python_environment.survey({}, str(venv)).headers == str(expected)


def test_torch_half_removed(venv: Path) -> None:
    site = venv / "lib/python3.12/site-packages"
    (site / "torch-2.11.0.dist-info/METADATA").unlink()
    found = python_environment.survey({}, str(venv))
    assert found.distribution("torch") is None
    assert found.torch is not None
    (site / "torch/version.py").write_text("<<<<<<< ours\n")
    assert python_environment.survey({}, str(venv)).torch is None


def test_the_running_environment_is_not_imported_from() -> None:
    before = set(sys.modules)
    found = python_environment.probe(Request(python=sys.executable))
    assert found.distribution("pip") is None or found.distribution("pip") in found.distributions
    assert not {"torch", "vllm"} & (set(sys.modules) - before)


def test_assemblers_are_asked_only_where_a_gpu_is_in_question(
    venv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(triton, "gpu_here", lambda: False)
    site = venv / "lib/python3.12/site-packages"
    program(site / "triton/backends/nvidia/bin/ptxas", "echo \"--gpu-name: 'sm_90'\"")
    python = str(venv)
    assert python_environment.probe(Request(python=python, archs=())).ptxas is None
    for request in (Request(python=python), Request(python=python, archs=("sm_90",))):
        asked = python_environment.probe(request).ptxas
        assert asked is not None
        assert [each.archs for each in asked] == [("sm_90",)]


def test_an_interpreter_that_is_not_there() -> None:
    with pytest.raises(InterpreterError, match="/no/such/python"):
        python_environment.survey({}, "/no/such/python")
