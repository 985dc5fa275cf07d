"""What the libraries of a torch say of its build."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.binary.builders import Part, elf

from dsv4_doctor.facts.python import TorchBuild
from dsv4_doctor.probes import torch_files

if TYPE_CHECKING:
    from pathlib import Path

OLD = b"\0_ZN3c105ErrorC2ENS_14SourceLocationESs\0"
NEW = b"\0_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcE\0"


def write(root: Path, version: str, *, constants: bytes = b"", c10: bytes = NEW) -> Path:
    """Write the files of a torch that are read."""
    (root / "torch/lib").mkdir(parents=True)
    cuda = f"'{version.partition('+cu')[2][:2]}.0'" if "+cu" in version else "None"
    path = root / "torch/version.py"
    path.write_text(f"__version__ = '{version}'\ncuda = {cuda}\n")
    library = elf(Part(".text", b"sm_10 sm_11\0", kind=1), Part(".rodata", constants, kind=1))
    (root / "torch/lib/libtorch_python.so").write_bytes(library)
    (root / "torch/lib/libc10.so").write_bytes(c10)
    return path


def read(root: Path) -> TorchBuild:
    return torch_files.with_library(torch_files.builds([root])[0])


def test_the_list_of_architectures_is_in_the_constants(tmp_path: Path) -> None:
    write(tmp_path, "2.11.0+cu130", constants=b"\0sm_%d\0sm_75 sm_80 sm_90 compute_120\0more\0")
    found = read(tmp_path)
    assert found.archs == ("sm_75", "sm_80", "sm_90", "compute_120")
    assert found.cxx11_abi is True


@pytest.mark.parametrize(
    ("c10", "expected"), [(OLD, False), (NEW, True), (b"neither", None), (OLD + NEW, None)]
)
def test_the_abi_is_in_the_names_of_symbols(
    tmp_path: Path, c10: bytes, expected: bool | None
) -> None:
    write(tmp_path, "2.6.0+cu124", c10=c10)
    assert read(tmp_path).cxx11_abi is expected


def test_a_torch_without_cuda_has_no_list(tmp_path: Path) -> None:
    write(tmp_path, "2.8.0+cpu", constants=b"sm_90\0")
    assert read(tmp_path).archs == ()


@pytest.mark.parametrize("name", ["libtorch_python.so", "libc10.so"])
def test_what_is_gone_is_not_known(tmp_path: Path, name: str) -> None:
    write(tmp_path, "2.11.0+cu130", constants=b"sm_90\0")
    (tmp_path / "torch/lib" / name).unlink()
    found = read(tmp_path)
    assert (found.archs, found.cxx11_abi)[name == "libc10.so"] in {(), None}
    assert found.version == "2.11.0+cu130"


def test_a_damaged_library_is_not_known(tmp_path: Path) -> None:
    write(tmp_path, "2.11.0+cu130")
    (tmp_path / "torch/lib/libtorch_python.so").write_bytes(b"\x7fELF")
    assert read(tmp_path).archs == ()


def test_two_of_them_in_order(tmp_path: Path) -> None:
    write(tmp_path / "a", "2.11.0+cu130")
    write(tmp_path / "b", "2.9.0+cu128")
    (tmp_path / "c/torch").mkdir(parents=True)
    found = torch_files.builds([tmp_path / "c", tmp_path / "a", tmp_path / "b"])
    assert [each.version for each in found] == ["2.11.0+cu130", "2.9.0+cu128"]


@given(st.binary(max_size=200))
def test_any_constants(data: bytes) -> None:
    for arch in torch_files.parse_archs(data + b"\0sm_90 sm_120a\0" + data):
        assert arch.startswith(("sm_", "compute_"))
