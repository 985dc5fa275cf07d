"""Host compilers on PATH: names, kinds, versions, and names that share a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.probes.fakes import program

from dsv4_doctor.facts.compiler import Compiler
from dsv4_doctor.probes import compiler_versions

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12.2.0\n", "12.2.0"),
        ("4.8.5\n", "4.8.5"),
        ("13\n", "13"),
        ("gcc: error: unrecognized option\n", None),
        ("", None),
    ],
)
def test_what_gcc_dumps(text: str, expected: str | None) -> None:
    assert compiler_versions.parse_gcc(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("g++ (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright (C) 2022\n", ("12.2.0", False)),
        ("gcc (Ubuntu 13.3.0-6ubuntu2~24.04.1) 13.3.0", ("13.3.0", False)),
        ("gcc (GCC) 11.4.1 20231218 (Red Hat 11.4.1-3)", ("11.4.1", False)),
        ("g++-14 (conda-forge gcc 14.2.0-1) 14.2.1", ("14.2.1", False)),
        ("Ubuntu clang version 18.1.3 (1ubuntu1)\nTarget: x86_64", ("18.1.3", True)),
        ("clang version 21.0.0git (https://example.org abc)", ("21.0.0", True)),
        ("no version", (None, False)),
        ("", (None, False)),
    ],
)
def test_what_compilers_say(text: str, expected: tuple[str | None, bool]) -> None:
    assert compiler_versions.parse_version(text) == expected


@given(st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    compiler_versions.parse_gcc(text)
    version, _ = compiler_versions.parse_version(text)
    assert version is None or version[0].isdigit()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gcc", "gcc"),
        ("x86_64-linux-gnu-g++-12", "g++"),
        ("cc", "gcc"),
        ("c++", "g++"),
        ("clang-18", "clang"),
        ("clang++", "clang++"),
        ("x86_64-conda-linux-gnu-cc", "gcc"),
    ],
)
def test_kinds_by_name(name: str, expected: str) -> None:
    assert compiler_versions.kind(f"/nowhere/{name}") == expected


def test_a_name_that_leads_to_clang(tmp_path: Path) -> None:
    program(tmp_path / "llvm/clang-18", "")
    (tmp_path / "c++").symlink_to(tmp_path / "llvm/clang-18")
    assert compiler_versions.kind(f"{tmp_path}/c++") == "clang++"


def test_names_that_are_compilers_in_the_order_of_path(tmp_path: Path) -> None:
    for name in ("gcc", "gcc-12", "gcc-ar", "g++", "clang++-18", "clang-format", "gcc-12.sh"):
        program(tmp_path / "one" / name, "")
    program(tmp_path / "two/gcc-11", "")
    (tmp_path / "two/gcc-9").write_text("not executable")
    found = compiler_versions.on_path([f"{tmp_path}/{name}" for name in ("two", "gone", "one")])
    names = [path.removeprefix(f"{tmp_path}/") for path in found]
    assert names == ["two/gcc-11", "one/clang++-18", "one/g++", "one/gcc", "one/gcc-12"]


def test_one_name_for_one_program_counts_once(tmp_path: Path) -> None:
    program(tmp_path / "usr/bin/gcc-12", "")
    (tmp_path / "usr/bin/gcc").symlink_to("gcc-12")
    (tmp_path / "bin").symlink_to("usr/bin")
    (tmp_path / "opt").mkdir()
    (tmp_path / "opt/gcc").symlink_to(tmp_path / "usr/bin/gcc-12")
    directories = [f"{tmp_path}/{name}" for name in ("usr/bin", "bin", "opt")]
    found = compiler_versions.on_path(directories)
    assert found == [f"{tmp_path}/usr/bin/gcc", f"{tmp_path}/usr/bin/gcc-12"]


def test_versions_and_kinds(tmp_path: Path) -> None:
    gcc = program(tmp_path / "gcc", 'case "$1" in -dumpfullversion) echo 12.2.0 ;; esac')
    clang = program(tmp_path / "clang++", 'test "$1" = --version && echo clang version 18.1.3')
    broken = program(tmp_path / "gcc-9", "echo 'libmpfr.so.6: not found' >&2; exit 127")
    assert compiler_versions.identify([str(gcc), str(clang), str(broken)]) == [
        Compiler(str(gcc), "gcc", "12.2.0"),
        Compiler(str(clang), "clang++", "18.1.3"),
    ]


@pytest.mark.parametrize(
    ("program_name", "own", "filed", "expected"),
    [
        ("clang", ["14.0.6"], [], "14.0.6"),
        ("clang", ["14.0.6"], ["14", "14.0.6"], "14.0.6"),
        ("clang", ["16"], ["16", "16.0.6"], "16.0.6"),
        ("clang++", ["19"], ["19.1.7"], "19.1.7"),
        ("clang-18", ["18"], ["18.1.3"], "18.1.3"),
        ("clang-18", ["19"], ["19.1.7"], None),
        ("clang", ["16"], [], None),
        ("clang", ["18.1.3", "19.1.7"], [], None),
        ("clang", [], [], None),
        ("clang", ["share"], [], None),
        ("clang-format", ["14.0.6"], [], None),
        ("gcc", ["14.0.6"], [], None),
    ],
)
def test_a_clang_is_not_run_where_its_files_tell_its_version(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    program_name: str,
    own: list[str],
    filed: list[str],
    expected: str | None,
) -> None:
    asked = program(tmp_path / "llvm/bin" / program_name, 'echo "clang version 7.7.7"')
    for name in own:
        (tmp_path / "llvm/lib/clang" / name / "include").mkdir(parents=True)
    for name in filed:
        (tmp_path / "clang" / name).mkdir(parents=True)
        (tmp_path / "clang" / name / "include").symlink_to(
            tmp_path / "llvm/lib/clang" / own[0] / "include"
        )
    (tmp_path / "clang/11.0.1/include").mkdir(parents=True)  # That of another installation.
    monkeypatch.setattr(compiler_versions, "_FILED", tmp_path / "clang")
    assert compiler_versions.clang_version(str(asked)) == expected
    (listed,) = compiler_versions.identify([str(asked)])
    assert listed.version == (expected or "7.7.7")


def test_headers_without_a_bin_or_an_include_tell_no_version(tmp_path: Path) -> None:
    (tmp_path / "lib/clang/14.0.6").mkdir(parents=True)
    assert compiler_versions.clang_version(str(program(tmp_path / "bin/clang", ""))) is None
    (tmp_path / "lib/clang/14.0.6/include").mkdir()
    assert compiler_versions.clang_version(str(program(tmp_path / "libexec/clang", ""))) is None
    assert compiler_versions.clang_version(f"{tmp_path}/bin/clang") == "14.0.6"


def test_names_of_one_program_are_asked_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    gcc = program(tmp_path / "gcc-12", f"echo asked >> {log}; echo 12.2.0")
    (tmp_path / "gcc").symlink_to(gcc)
    found = compiler_versions.identify([f"{tmp_path}/gcc", f"{tmp_path}/gcc-12"])
    assert [each.version for each in found] == ["12.2.0", "12.2.0"]
    assert log.read_text() == "asked\n"


def test_a_launcher_goes_by_the_name_it_was_called_by(tmp_path: Path) -> None:
    launcher = program(
        tmp_path / "ccache",
        'case "$0" in *g++) echo 12.2.0 ;; *) echo clang version 18.1.3 ;; esac',
    )
    for name in ("g++", "clang"):
        (tmp_path / name).symlink_to(launcher)
    assert compiler_versions.identify([f"{tmp_path}/g++", f"{tmp_path}/clang"]) == [
        Compiler(f"{tmp_path}/g++", "g++", "12.2.0"),
        Compiler(f"{tmp_path}/clang", "clang", "18.1.3"),
    ]


def test_names_of_one_clang_are_of_their_own_kind(tmp_path: Path) -> None:
    clang = program(tmp_path / "llvm/bin/clang", "echo clang version 18.1.3")
    for name in ("clang", "clang++", "c++"):
        (tmp_path / name).symlink_to(clang)
    found = compiler_versions.identify(
        [f"{tmp_path}/{name}" for name in ("clang", "clang++", "c++")]
    )
    assert [each.kind for each in found] == ["clang", "clang++", "clang++"]


def test_a_gcc_that_is_clang_says_so(tmp_path: Path) -> None:
    fake = program(tmp_path / "g++", 'test "$1" = --version && echo "clang version 19.1.0"')
    assert compiler_versions.identify([str(fake)]) == [Compiler(str(fake), "clang++", "19.1.0")]


def test_a_compiler_that_hangs_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler_versions, "_LIMIT", 0.2)
    assert compiler_versions.identify([str(program(tmp_path / "gcc", "sleep 60"))]) == []
