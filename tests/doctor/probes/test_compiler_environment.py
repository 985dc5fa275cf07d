"""What surrounds the host compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.probes.fakes import program

from dsv4_doctor.facts.compiler import Compiler
from dsv4_doctor.probes import compiler, compiler_environment

if TYPE_CHECKING:
    from pathlib import Path


def test_variables_that_name_what_is_not_there(tmp_path: Path) -> None:
    gcc = program(tmp_path / "gcc", "exit 0")
    environ = {
        "CC": "ccache gcc",
        "CXX": "/gone/g++",
        "CUDAHOSTCXX": str(gcc),
        "NVCC_CCBIN": str(tmp_path),
        "NVCC_PREPEND_FLAGS": "-O2 -ccbin /gone/g++-13",
        "NVCC_APPEND_FLAGS": "-ccbin=gcc",
        "CUDACXX": "",
    }
    program(tmp_path / "ccache", "exit 0")
    assert compiler_environment.absent(environ, [str(tmp_path)]) == {
        "CXX": "/gone/g++",
        "NVCC_PREPEND_FLAGS": "/gone/g++-13",
    }


@pytest.mark.parametrize(
    ("says", "expected"),
    [("{there}", "{there}"), ("cc1plus", ""), ("/gone/cc1plus", ""), ("", None)],
)
def test_the_compiler_proper(tmp_path: Path, says: str, expected: str | None) -> None:
    there = tmp_path / "cc1plus"
    there.write_text("")
    gcc = program(
        tmp_path / "gcc",
        f'test "$1" = -print-prog-name=cc1plus && echo "{says.format(there=there)}"',
    )
    wanted = expected.format(there=there) if expected is not None else None
    assert compiler_environment.cc1plus(str(gcc)) == wanted


def test_a_compiler_that_does_not_answer(tmp_path: Path) -> None:
    assert compiler_environment.cc1plus(str(program(tmp_path / "gcc", "exit 1"))) is None
    assert compiler_environment.cc1plus("/gone/gcc") is None


def test_headers_of_the_system_and_of_variables(tmp_path: Path) -> None:
    assert compiler_environment.system_headers({}, tmp_path) == ()
    (tmp_path / "own").mkdir()
    (tmp_path / "own/numa.h").write_text("")
    assert compiler_environment.system_headers({"CPATH": f"{tmp_path}/own"}, tmp_path) == (
        "numa.h",
    )


def test_what_glibc_declares(tmp_path: Path) -> None:
    assert compiler_environment.libc_math(tmp_path) is None
    (tmp_path / "usr/include/bits").mkdir(parents=True)
    header = tmp_path / "usr/include/bits/mathcalls.h"
    header.write_text("__MATHCALL_VEC (cos,, (_Mdouble_ __x));\n")
    assert compiler_environment.libc_math(tmp_path) == ()
    header.write_text("__MATHCALL_VEC (cospi,, (x));\n__MATHCALL (rsqrt,, (x));\n")
    assert compiler_environment.libc_math(tmp_path) == ("cospi", "rsqrt")


def test_the_compiler_of_the_c_plus_plus_files(tmp_path: Path) -> None:
    old = program(tmp_path / "bin/g++", "echo 9.4.0")
    new = program(tmp_path / "new/g++-13", "echo 13.3.0")
    path = {"PATH": f"{tmp_path}/bin"}

    def survey(**environ: str) -> tuple[Compiler | None, str | None]:
        found = compiler.survey({**path, **environ}, default_root="/gone", filesystem=tmp_path)
        return found.cxx, found.cxx_because

    assert survey() == (Compiler(str(old), "g++", "9.4.0"), "PATH")
    assert survey(CXX=str(new)) == (Compiler(str(new), "g++", "13.3.0"), "CXX")
    given = f"-DCMAKE_CXX_COMPILER={new}"
    assert survey(CXX=str(old), CMAKE_ARGS=given)[1] == "CMAKE_ARGS"
    assert survey(CXX="/gone/g++") == (None, None)


@given(st.text(st.characters(exclude_characters="\0")))
def test_any_value_of_a_variable(value: str) -> None:
    found = compiler_environment.absent({"CC": value, "NVCC_APPEND_FLAGS": value}, ["/gone"])
    assert set(found) <= {"CC", "NVCC_APPEND_FLAGS"}
