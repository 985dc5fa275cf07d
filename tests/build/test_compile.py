from __future__ import annotations

import sys

import pytest

from dsv4_build.compile import require_installed
from dsv4_doctor.errors import BuildError


def test_what_is_there_does() -> None:
    require_installed(sys.executable, {"packaging>=20", "pytest"})


def test_what_is_missing_is_named_with_the_command_that_helps() -> None:
    with pytest.raises(BuildError, match="not installed") as caught:
        require_installed(sys.executable, {"packaging>=999", "surely-not-installed==1"})
    assert "packaging>=999 (has " in str(caught.value)
    assert f"{sys.executable} -m pip install" in caught.value.hint
    assert "'surely-not-installed==1'" in caught.value.hint


def test_cmake_and_ninja_come_from_elsewhere_and_markers_are_heeded() -> None:
    require_installed(
        sys.executable,
        {"cmake>=999", "ninja>=999", "surely-not-installed; python_version < '3'"},
    )


def test_a_requirement_that_is_none() -> None:
    with pytest.raises(BuildError, match="is no requirement"):
        require_installed(sys.executable, {"a b c"})


def test_an_interpreter_that_does_not_start() -> None:
    with pytest.raises(BuildError, match="does not tell what is installed"):
        require_installed("/nonexistent/python", {"packaging"})
    with pytest.raises(BuildError, match="does not tell what is installed"):
        require_installed("/bin/false", {"packaging"})
