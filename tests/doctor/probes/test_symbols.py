"""Resolving the symbols of installed modules against the installed torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.doctor.binary.linking import Want, shared
from tests.doctor.probes.fakes import program

from dsv4_doctor.facts.symbols import LibraryNeeds
from dsv4_doctor.probes import library_needs, symbols
from dsv4_doctor.probes.registry import Request

if TYPE_CHECKING:
    from pathlib import Path

CHECK = "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_{}b"
KERNEL = "_Z35cutlass_blockwise_scaled_grouped_mmRN2at6TensorERKS0_"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A torch that defines one function."""
    root = tmp_path / "site-packages"
    libraries = root / "torch/lib"
    libraries.mkdir(parents=True)
    content = shared(defined=[CHECK.format("i")], soname="libc10.so")
    (libraries / "libc10.so").write_bytes(content)
    (root / "vllm").mkdir()
    return root


def module(
    site: Path, *wanted: str, name: str = "_C.abi3.so", defined: tuple[str, ...] = ()
) -> str:
    path = site / "vllm" / name
    path.write_bytes(shared(*wanted, needed=["libc10.so"], defined=defined))
    return str(path)


def test_all_there(site: Path) -> None:
    path = module(site, CHECK.format("i"), "_ZN4vllm5thereEv")
    module(site, name="_moe_C.abi3.so", defined=("_ZN4vllm5thereEv",))
    found = symbols.survey([site], "3.12.3")
    assert found.unresolved == ()
    assert found.unknown == ()
    assert path in found.modules
    assert found.torch == f"{site}/torch/lib"


def test_another_torch_and_a_kernel_that_was_not_compiled(site: Path) -> None:
    path = module(site, CHECK.format("j"), KERNEL)
    by_kind = {each.kind: each for each in symbols.survey([site], "3.12.3").unresolved}
    assert by_kind["torch-abi"].symbols == (CHECK.format("j"),)
    assert "other parameters" in by_kind["torch-abi"].reason
    assert by_kind["not-compiled"].symbols == (KERNEL,)
    assert {(each.path, each.owner, each.count) for each in by_kind.values()} == {(path, "vllm", 1)}


def test_a_module_that_cannot_be_read_is_told_and_hides_no_other(site: Path) -> None:
    broken = site / "vllm/_moe_C.abi3.so"
    broken.write_bytes(b"\x7fELF")
    module(site, CHECK.format("j"))
    found = symbols.survey([site], "3.12.3")
    assert [each.kind for each in found.unresolved] == ["torch-abi"]
    assert any(str(broken) in each for each in found.unknown)


def test_without_a_torch_nothing_is_resolved(site: Path) -> None:
    module(site, CHECK.format("j"))
    (site / "torch/lib/libc10.so").unlink()
    found = symbols.survey([site], "3.12.3")
    assert (found.torch, found.unresolved) == (None, ())
    assert found.unknown == ("no torch is installed to resolve symbols against",)


def test_without_modules_there_is_nothing_to_tell(site: Path) -> None:
    found = symbols.survey([site], "3.12.3")
    assert (found.modules, found.unresolved, found.unknown) == ((), (), ())


def test_the_environment_that_was_asked_for(site: Path, tmp_path: Path) -> None:
    path = module(site, CHECK.format("i"))
    answer = ("3.12.3", str(tmp_path), "/usr", "", [str(site)])
    python = program(tmp_path / "bin/python", f'echo "{answer!r}"')
    assert symbols.probe(Request(python=str(python), deep=True)).modules == (path,)


def test_what_every_package_asks_of_the_c_libraries(site: Path) -> None:
    (site / "xgrammar").mkdir()
    asks = [
        Want("_ZNSs4swapERSs", "libstdc++.so.6", "GLIBCXX_3.4.30"),
        Want("memcpy", "libc.so.6", "GLIBC_2.14"),
    ]
    (site / "xgrammar/bindings.so").write_bytes(shared(*asks))
    (site / "xgrammar/libother.so.3").write_bytes(
        shared(Want("a", "libstdc++.so.6", "GLIBCXX_3.4.9"), Want("b", "libc.so.6", "GLIBC_2.28"))
    )
    (site / "xgrammar/notes.txt").write_text("")
    (site / "broken.so").write_bytes(b"\x7fELF")
    (only,), unread = library_needs.survey([site])
    assert unread == ()
    assert only == LibraryNeeds(
        "xgrammar", f"{site}/xgrammar/bindings.so", glibc="2.28", glibcxx="3.4.30"
    )


def test_packages_that_time_does_not_suffice_for_are_named(site: Path) -> None:
    needs, unread = library_needs.survey([site], seconds=-1.0)
    assert (needs, unread) == ((), ("torch", "vllm"))
