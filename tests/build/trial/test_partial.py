from __future__ import annotations

from pathlib import Path

import pytest

from dsv4_build.ninja import Goals, Targets, Unit
from dsv4_build.trial.partial import partial_command, with_bindings
from dsv4_build.trial.run import Case
from dsv4_doctor.errors import BuildError

COMMAND = (
    ": && /usr/bin/g++ -fPIC -O3 -shared -o _C.abi3.so there.cu.o absent.cu.o "
    '-Wl,--no-as-needed,"/venv/libtorch.so" -ldl && :'
)


def _unit(component: str, source: str) -> Unit:
    return Unit(f"CMakeFiles/{component}.dir/{source}.o", component, source)


CASES = (Case("paged", "paged-v2", "_C", "vllm:paged"),)
KERNEL, BINDINGS = _unit("_C", "csrc/paged.cu"), _unit("_C", "csrc/torch_bindings.cpp")
OTHERS = (_unit("_C", "csrc/other.cu"), _unit("_moe_C", "csrc/moe/torch_bindings.cpp"))
TARGETS = Targets((KERNEL, BINDINGS, *OTHERS), {"_C": "_C.abi3.so", "_moe_C": "_moe_C.abi3.so"})


def test_the_host_code_of_a_tested_module_is_compiled_too() -> None:
    assert with_bindings(Goals((KERNEL,), {}), TARGETS, CASES).units == (KERNEL, BINDINGS)


def test_a_module_that_is_built_whole_needs_nothing_more() -> None:
    asked = Goals((), {"_C": "_C.abi3.so"})
    assert with_bindings(asked, TARGETS, CASES) == asked


def test_a_partial_link_has_the_objects_that_exist(tmp_path: Path) -> None:
    (tmp_path / "there.cu.o").touch()
    argv = partial_command(COMMAND, tmp_path, tmp_path / "partial.so")
    assert argv == [
        "/usr/bin/g++",
        "-fPIC",
        "-O3",
        "-shared",
        "-o",
        str(tmp_path / "partial.so"),
        "there.cu.o",
        "-Wl,--no-as-needed,/venv/libtorch.so",
        "-ldl",
        "-Wl,-z,lazy",
        "-Wl,-z,undefs",
    ]


def test_what_links_no_module_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="no link command"):
        partial_command(": && ar qc libfmt.a fmt.o && :", tmp_path, tmp_path / "x.so")
