"""Which program installs packages, and what it is told."""

from __future__ import annotations

import shutil
import sys

import pytest

from dsv4_build import installers
from dsv4_doctor.errors import BuildError


def _has(monkeypatch: pytest.MonkeyPatch, *modules: str, path: str | None = None) -> None:
    monkeypatch.setattr(installers, "find_spec", lambda name: object() if name in modules else None)
    monkeypatch.setattr(shutil, "which", lambda _: path)


def _install(python: str = sys.executable, *, configured: bool = True) -> list[str]:
    return installers.install(python, ["a.whl"], otherwise="no a", configured=configured)


def test_pip_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    _has(monkeypatch, "pip", "uv", path="/usr/bin/uv")
    assert _install()[:4] == [sys.executable, "-m", "pip", "install"]
    assert _install()[-1] == "a.whl"


def test_pip_installs_into_another_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    _has(monkeypatch, "pip")
    argv = _install("/env/bin/python")
    assert argv[:6] == [sys.executable, "-m", "pip", "--python", "/env/bin/python", "install"]


def test_settings_of_pip_hold_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    _has(monkeypatch, "pip")
    assert "--isolated" not in _install()
    assert "--isolated" in _install(configured=False)


@pytest.mark.parametrize(
    ("modules", "path", "command"),
    [
        (("uv",), None, [sys.executable, "-m", "uv"]),
        (("uv",), "/usr/bin/uv", [sys.executable, "-m", "uv"]),
        ((), "/usr/bin/uv", ["/usr/bin/uv"]),
    ],
)
def test_then_uv_wherever_it_is(
    monkeypatch: pytest.MonkeyPatch, modules: tuple[str, ...], path: str | None, command: list[str]
) -> None:
    _has(monkeypatch, *modules, path=path)
    assert installers.uv() == command
    wanted = [*command, "pip", "install", "--python", "/env/bin/python", "a.whl"]
    assert _install("/env/bin/python") == wanted


def test_then_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    _has(monkeypatch)
    assert installers.uv() is None
    with pytest.raises(BuildError, match="has no pip, and uv is not on PATH: no a") as caught:
        _install()
    assert "ensurepip" in caught.value.hint
