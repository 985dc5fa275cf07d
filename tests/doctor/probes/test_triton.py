"""The assemblers that Triton runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.probes.fakes import program

from dsv4_doctor.arch import Arch
from dsv4_doctor.facts.python import Ptxas
from dsv4_doctor.probes import triton

if TYPE_CHECKING:
    from pathlib import Path

HELP = """
--gpu-name <gpu name>                               (-arch)
        Specify name of NVIDIA GPU to generate code for.
        Allowed values for this option:  'compute_80','compute_90','sm_80','sm_90',
        'sm_90a'.
        Default value:  'sm_52'.

--input-as-string <string>,...                      (-ias)
        Such as for sm_35.
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    root = tmp_path / "site-packages"
    ask(root / "triton/backends/nvidia/bin/ptxas", "'sm_90'")
    return root


def ask(path: Path, archs: str) -> str:
    program(path, f'test "$1" = --help && echo "--gpu-name: {archs}"')
    return str(path)


def test_the_one_in_the_wheel(site: Path) -> None:
    (only,) = triton.survey({}, [site])
    own = f"{site}/triton/backends/nvidia/bin/ptxas"
    assert only == Ptxas(own, "triton", blackwell=False, archs=("sm_90",))


def test_blackwell_has_one_of_its_own_and_a_variable_for_it(site: Path, tmp_path: Path) -> None:
    ask(site / "triton/backends/nvidia/bin/ptxas-blackwell", "'sm_100'")
    given = ask(tmp_path / "cuda/ptxas", "'sm_110a'")
    environ = {"TRITON_PTXAS_PATH": "/gone", "TRITON_PTXAS_BLACKWELL_PATH": given}
    first, second = triton.survey(environ, [site])
    # A variable that names nothing leaves the one in the wheel.
    assert (first.chosen_by, first.blackwell) == ("triton", False)
    assert (second.path, second.chosen_by) == (given, "TRITON_PTXAS_BLACKWELL_PATH")
    assert (second.blackwell, second.archs) == (True, ("sm_110a",))


def test_a_variable_serves_a_triton_without_an_assembler(tmp_path: Path) -> None:
    (tmp_path / "triton").mkdir()
    assert triton.survey({}, [tmp_path]) == ()
    given = ask(tmp_path / "ptxas", "'sm_80'")
    (only,) = triton.survey({"TRITON_PTXAS_PATH": given}, [tmp_path])
    assert only.chosen_by == "TRITON_PTXAS_PATH"


def test_without_triton_there_is_none(tmp_path: Path) -> None:
    assert triton.survey({"TRITON_PTXAS_PATH": "/bin/true"}, [tmp_path]) == ()


@pytest.mark.parametrize("body", ["exit 1", "echo rubbish", "sleep 9"])
def test_one_that_does_not_answer_says_why(
    site: Path, body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(triton, "_LIMIT", 0.3)
    program(site / "triton/backends/nvidia/bin/ptxas", body)
    (only,) = triton.survey({}, [site])
    assert only.archs == ()
    assert only.error is not None
    assert only.path in only.error


def test_only_the_option_for_gpus_is_read() -> None:
    assert triton.parse_help(HELP) == ("sm_80", "sm_90", "sm_90a")


def test_a_gpu_is_seen_by_its_device(tmp_path: Path) -> None:
    assert not triton.gpu_here(tmp_path)
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/nvidiactl").write_text("")
    assert triton.gpu_here(tmp_path)


def test_where_the_linker_looks_for_libcuda(tmp_path: Path) -> None:
    assert triton.libcuda({}, tmp_path) == ((), ())
    mount = tmp_path / "usr/local/nvidia/lib64"
    mount.mkdir(parents=True)
    (mount / "libcuda.so.1").write_text("")
    # As on a platform that mounts it where ldconfig does not look.
    assert triton.libcuda({}, tmp_path) == ((), (str(mount),))
    assert triton.libcuda({"LD_LIBRARY_PATH": f"/gone:{mount}"}, tmp_path) == ((str(mount),), ())
    (tmp_path / "etc").mkdir()
    listed = f"\0libcuda.so.1\0{mount}/libcuda.so.1\0/gone/libcuda.so.1\0/x/libcuda.so\0"
    (tmp_path / "etc/ld.so.cache").write_bytes(listed.encode())
    assert triton.libcuda({}, tmp_path) == ((str(mount),), ())
    # The variable wins, also when it leads nowhere.
    assert triton.libcuda({"TRITON_LIBCUDA_PATH": "/gone"}, tmp_path) == ((), (str(mount),))


@given(st.text())
def test_any_text(text: str) -> None:
    for name in triton.parse_help(text):
        assert Arch.parse(name).sm == name
