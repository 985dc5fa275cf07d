"""Asking nvcc: what it prints, and compilers that hang, print rubbish or are wrappers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.probes.fakes import fake_nvcc, program

from dsv4_doctor import process
from dsv4_doctor.arch import Arch
from dsv4_doctor.probes import nvcc

DRY_RUN = """\
#$ NVCC_PREPEND_FLAGS="-ccbin '/opt/my gcc/g++'"
#$ _NVVM_BRANCH_=nvvm
#$ _SPACE_=
#$ _HERE_=/usr/local/cuda-13.0/bin
#$ TOP=/usr/local/cuda-13.0/bin/..
#$ PATH=/usr/local/cuda-13.0/bin/../nvvm/bin:/usr/local/cuda-13.0/bin:/usr/bin
#$ LIBRARIES=  "-L/usr/local/cuda-13.0/bin/../targets/x86_64-linux/lib/stubs"
#$ PTXAS_FLAGS=
#$ {compiler} -D__CUDA_ARCH__=750 -E -x c++ -DCUDA_DOUBLE_MATH_FUNCTIONS -D__CUDACC__ "/dev/null"
#$ gcc-of-a-later-step -E -D__CUDACC__
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Cuda compilation tools, release 13.0, V13.0.88\nBuild cuda_13.0.r13.0/x", "13.0.88"),
        ("Cuda compilation tools, release 9.1, V9.1.85", "9.1.85"),
        ("release 12.4, build unknown", "12.4"),
        ("nvcc: command not found", None),
        ("", None),
    ],
)
def test_versions(text: str, expected: str | None) -> None:
    assert nvcc.parse_version(text) == expected


def test_architectures_are_machine_code_in_order() -> None:
    text = "'all','compute_90a','lto_100','sm_100','sm_100f','sm_90',\n'sm_90a','sm_80'. --arch sm_"
    assert nvcc.parse_architectures(text) == ("sm_80", "sm_90", "sm_90a", "sm_100", "sm_100f")
    assert nvcc.parse_architectures("sm_80\nsm_90\n") == ("sm_80", "sm_90")


@pytest.mark.parametrize(
    ("compiler", "expected"),
    [
        ("gcc", "gcc"),
        ('"/usr/bin"/g++-12', "/usr/bin/g++-12"),
        ('"/opt/my gcc"/g++', "/opt/my gcc/g++"),
        ('"/opt/unbalanced/g++', "gcc-of-a-later-step"),
    ],
)
def test_dry_run(compiler: str, expected: str | None) -> None:
    run = nvcc.parse_dry_run(DRY_RUN.format(compiler=compiler))
    assert run.here == "/usr/local/cuda-13.0/bin"
    assert run.path == "/usr/local/cuda-13.0/bin/../nvvm/bin:/usr/local/cuda-13.0/bin:/usr/bin"
    assert run.host_compiler == expected


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (
            "-D__CUDACC_VER_MAJOR__=12 -D__CUDACC_VER_MINOR__=4 -D__CUDACC_VER_BUILD__=131",
            "12.4.131",
        ),
        ("-D__CUDACC_VER_MAJOR__=12 -D__CUDACC_VER_MINOR__=4", None),
        ("-D__CUDACC_VER_MAJOR__=x -D__CUDACC_VER_MINOR__=4 -D__CUDACC_VER_BUILD__=1", None),
        ("", None),
    ],
)
def test_a_dry_run_tells_the_version(flags: str, expected: str | None) -> None:
    text = f"#$ gcc -E -D__CUDACC__ {flags} /dev/null"
    assert nvcc.parse_dry_run(text).version == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('#!/bin/sh\nexec /usr/local/cuda-13.0/bin/nvcc "$@"\n', "/usr/local/cuda-13.0/bin/nvcc"),
        ("#!/bin/sh\nexec '/opt/my cuda/bin/nvcc' $*\n", None),
        ('#!/bin/sh\nexec "/opt/cuda/bin/nvcc" "$@"', "/opt/cuda/bin/nvcc"),
        ("#!/bin/sh\nexec ccache /opt/cuda/bin/nvcc", "/opt/cuda/bin/nvcc"),
        ("#!/bin/sh\nexec nvcc-12", None),
        ("", None),
    ],
)
def test_wrappers(text: str, expected: str | None) -> None:
    assert nvcc.parse_wrapper(text) == expected


@given(st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    nvcc.parse_version(text)
    nvcc.parse_wrapper(text)
    nvcc.parse_dry_run(f"#$ {text}\n{text}")
    assert all(Arch.parse(each) for each in nvcc.parse_architectures(text))


def test_ask(tmp_path: Path) -> None:
    compiler = fake_nvcc(tmp_path)
    assert nvcc.ask(str(compiler)) == nvcc.Answer("12.4.131", ("sm_80", "sm_90", "sm_90a"), None)


def test_architectures_of_an_old_nvcc_come_from_its_list(tmp_path: Path) -> None:
    compiler = program(
        tmp_path / "nvcc",
        'case "$1" in --version) echo V11.0.1 ;; --help) echo none ;;'
        " --list-gpu-code) echo sm_80 ;; esac",
    )
    assert nvcc.ask(str(compiler)).archs == ("sm_80",)


def test_a_compiler_that_prints_rubbish(tmp_path: Path) -> None:
    compiler = program(tmp_path / "nvcc", "echo sm_90 rubbish")
    answer = nvcc.ask(str(compiler))
    assert (answer.version, answer.archs) == (None, ())
    assert answer.error == f"{compiler} --version: no version in its output: 'sm_90 rubbish'"


def test_a_compiler_that_fails(tmp_path: Path) -> None:
    compiler = program(tmp_path / "nvcc", "echo 'libfoo.so.1: no such file' >&2; exit 127")
    answer = nvcc.ask(str(compiler))
    assert answer.error == f"{compiler} --version: exit status 127: libfoo.so.1: no such file"


def test_a_compiler_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvcc, "_LIMIT", 0.2)
    compiler = program(tmp_path / "nvcc", "sleep 60")
    assert nvcc.ask(str(compiler)).error == f"{compiler}: no answer within 0.2 s"
    assert nvcc.real(str(compiler)).path == str(compiler)


def test_a_missing_compiler(tmp_path: Path) -> None:
    answer = nvcc.ask(f"{tmp_path}/nvcc")
    assert answer.error == f"{tmp_path}/nvcc: No such file or directory"


def test_a_dry_run_that_is_refused_says_why(tmp_path: Path) -> None:
    compiler = program(
        tmp_path / "nvcc",
        "echo 'gcc: No such file or directory' >&2\n"
        "echo 'nvcc fatal   : Failed to preprocess host compiler properties.' >&2; exit 1",
    )
    with pytest.raises(
        process.ProcessError, match=r"exit status 1: gcc: No such file .*; nvcc fatal +: Failed"
    ):
        nvcc.dry_run(str(compiler))


def test_options_come_before_the_input(tmp_path: Path) -> None:
    compiler = program(tmp_path / "nvcc", 'echo "#\\$ $3 -E -D__CUDACC__ $2" >&2')
    assert nvcc.dry_run(str(compiler), "-ccbin", "g++-12").host_compiler == "g++-12"


def test_a_link_leads_to_the_compiler(tmp_path: Path) -> None:
    compiler = tmp_path / "cuda/bin/nvcc"
    compiler.parent.mkdir(parents=True)
    compiler.write_bytes(b"\x7fELF")
    (tmp_path / "nvcc").symlink_to(compiler)
    assert nvcc.real(f"{tmp_path}/nvcc").path == str(compiler.resolve())


def test_a_wrapper_leads_to_the_compiler(tmp_path: Path) -> None:
    compiler = fake_nvcc(tmp_path / "cuda-12.4").resolve()
    wrapper = program(tmp_path / "bin/nvcc", f'exec {compiler} "$@"')
    assert nvcc.real(str(wrapper)).path == str(compiler)


def test_a_compiler_that_has_told_its_version_is_asked_for_the_rest(tmp_path: Path) -> None:
    compiler = program(
        tmp_path / "cuda/bin/nvcc",
        'case "$1" in --help) echo sm_90 ;; --dryrun)\n'
        f"echo '#$ _HERE_={tmp_path.resolve()}/cuda/bin' >&2\n"
        "echo '#$ gcc -E -D__CUDACC__ -D__CUDACC_VER_MAJOR__=12 -D__CUDACC_VER_MINOR__=4"
        " -D__CUDACC_VER_BUILD__=131' >&2 ;;\n*) exit 1 ;; esac",
    )
    wrapper = program(tmp_path / "bin/nvcc", f'exec {compiler} "$@"')
    found = nvcc.real(str(wrapper))
    assert found == nvcc.Real(str(compiler.resolve()), "12.4.131")
    assert nvcc.ask(found.path, found.version) == nvcc.Answer("12.4.131", ("sm_90",), None)


def test_a_wrapper_is_read_where_the_dry_run_is_refused(tmp_path: Path) -> None:
    compiler = program(tmp_path / "cuda/bin/nvcc", "exit 1").resolve()
    wrapper = program(tmp_path / "bin/nvcc", f'exec {compiler} "$@"')
    assert nvcc.real(str(wrapper)).path == str(compiler)


def test_a_wrapper_that_leads_nowhere_is_left_as_it_is(tmp_path: Path) -> None:
    wrapper = program(tmp_path / "nvcc", f'exec {tmp_path}/gone/nvcc "$@"').resolve()
    assert nvcc.real(str(wrapper)).path == str(wrapper)


def test_one_question_is_asked_once_and_another_environment_asks_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    dry = DRY_RUN.format(compiler="gcc").replace("'", "")
    compiler = str(program(tmp_path / "nvcc", f"echo asked >> {log}\necho '{dry}' >&2"))
    assert nvcc.dry_run(compiler) == nvcc.dry_run(compiler)
    assert log.read_text() == "asked\n"
    nvcc.dry_run(compiler, "-ccbin", "g++")
    monkeypatch.setenv("NVCC_CCBIN", "g++-12")
    nvcc.dry_run(compiler)
    assert log.read_text() == "asked\n" * 3
