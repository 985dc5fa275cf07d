from __future__ import annotations

import shutil
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from tests.build import planning
from tests.build.trial.extensions import extension

from dsv4_build import installers
from dsv4_build.plan import Plan
from dsv4_build.trial.install import Loaded, extension_modules, judge, require_means, try_out
from dsv4_build.trial.run import Outcome
from dsv4_doctor.errors import BuildError

NAME = "dsv4_smoke-1.0.0-py3-none-any.whl"
METADATA = "Metadata-Version: 2.1\nName: dsv4-smoke\nVersion: 1.0.0\nRequires-Dist: torch\n"
WHEEL = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: py3-none-any\n"


def _wheel(directory: Path, **modules: Path) -> Path:
    wheel = directory / NAME
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, file in modules.items():
            archive.write(file, f"dsv4_smoke/{name}.abi3.so")
        archive.writestr("dsv4_smoke-1.0.0.dist-info/METADATA", METADATA)
        archive.writestr("dsv4_smoke-1.0.0.dist-info/WHEEL", WHEEL)
        archive.writestr("dsv4_smoke-1.0.0.dist-info/RECORD", "")
    return wheel


def _plan(tmp_path: Path) -> Plan:
    plan = planning.plan(tmp_path)
    python = replace(plan.choices.python, executable=sys.executable)
    return replace(plan, choices=replace(plan.choices, python=python))


def _try(tmp_path: Path, wheel: Path) -> Loaded:
    return try_out(_plan(tmp_path), wheel, tmp_path / "environment", tmp_path / "install.log")


@pytest.mark.real
def test_every_module_loads_in_a_clean_environment(tmp_path: Path) -> None:
    wheel = _wheel(tmp_path, fine=extension(tmp_path, "fine"))
    assert _try(tmp_path, wheel) == Loaded(("dsv4_smoke/fine.abi3.so",))


@pytest.mark.real
def test_one_that_does_not_is_named_with_its_reason(tmp_path: Path) -> None:
    lacking = extension(tmp_path, "lacking", before="void nowhere(void);", body="nowhere();")
    wheel = _wheel(tmp_path, fine=extension(tmp_path, "fine"), lacking=lacking)
    with pytest.raises(BuildError, match=r"lacking\.abi3\.so: .*undefined symbol: nowhere"):
        _try(tmp_path, wheel)


@pytest.mark.real
@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="has a driver")
def test_one_that_wants_the_driver_is_loaded_with_the_toolkits_stand_in(tmp_path: Path) -> None:
    stubs = tmp_path / "cuda" / "lib64" / "stubs"
    stub = extension(stubs, "libcuda")
    wanting = extension(tmp_path, "wanting", options=(str(stub),))
    plan = _plan(tmp_path)
    choices = replace(
        plan.choices,
        toolchain=replace(plan.choices.toolchain, root=str(tmp_path / "cuda")),
    )
    wheel = _wheel(tmp_path, wanting=wanting)
    found = try_out(
        replace(plan, choices=choices), wheel, tmp_path / "environment", tmp_path / "log"
    )
    assert found == Loaded((), ("dsv4_smoke/wanting.abi3.so",))
    bare = replace(plan.choices, toolchain=replace(plan.choices.toolchain, root="/nowhere"))
    untried = try_out(replace(plan, choices=bare), wheel, tmp_path / "without", tmp_path / "log")
    assert [name for name, _ in untried.untried] == ["dsv4_smoke/wanting.abi3.so"]


@pytest.mark.real
def test_a_file_that_pip_does_not_take_does_not_install(tmp_path: Path) -> None:
    wheel = tmp_path / NAME
    wheel.write_bytes(b"no zip")
    with pytest.raises(BuildError, match="does not install into a clean environment"):
        _try(tmp_path, wheel)


def test_modules_of_another_python_are_not_tried(tmp_path: Path) -> None:
    for name in ("a.abi3.so", "sub/b.cpython-312-x86_64-linux-gnu.so", "c.cpython-39.so", "d.so.1"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    suffixes = [".cpython-312-x86_64-linux-gnu.so", ".abi3.so", ".so"]
    found = extension_modules(tmp_path, suffixes)
    assert [(each.name, each.key) for each in found] == [
        ("a", "a.abi3.so"),
        ("b", "sub/b.cpython-312-x86_64-linux-gnu.so"),
    ]


def test_a_machine_without_a_driver_is_no_fault_of_the_wheel() -> None:
    why = "ImportError: libcuda.so.1: cannot open shared object file"
    assert judge([Outcome("a"), Outcome("b", why)]) == Loaded(("a",), untried=(("b", why),))


def test_a_library_that_is_no_python_module_has_been_loaded() -> None:
    why = "ImportError: dynamic module does not define module export function (PyInit_a)"
    assert judge([Outcome("a", why)]) == Loaded(("a",))


def test_what_comes_after_one_that_kills_the_process_is_not_said_to_load() -> None:
    with pytest.raises(BuildError, match="a: the process died with signal 11"):
        judge([Outcome("a", "the process died with signal 11"), Outcome("b", done=False)])


def test_a_machine_that_can_try_a_wheel_out_is_not_refused() -> None:
    require_means(sys.executable)


def test_one_without_an_installer_is_refused_before_the_build(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(installers, "find_spec", lambda _: None)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(BuildError, match="has no pip, and uv is not on PATH"):
        require_means(sys.executable)


def test_an_interpreter_that_makes_no_environments_is_refused(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(
        "#!/bin/sh\necho \"ModuleNotFoundError: No module named 'venv'\" >&2; exit 1\n"
    )
    python.chmod(0o755)
    with pytest.raises(BuildError, match="No module named 'venv'"):
        require_means(str(python))
