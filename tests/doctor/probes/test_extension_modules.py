"""The shared objects that are looked into, and those that cannot be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.doctor.binary.builders import PTX, Entry, kernels, library
from tests.doctor.binary.linking import Want, shared

from dsv4_doctor.facts.python import DeviceCode
from dsv4_doctor.probes import extension_modules

if TYPE_CHECKING:
    from pathlib import Path

FA3 = "_ZN7cutlass13device_kernelIN5flash16FlashAttnFwdSm90INS_1EEEEEvNT_6ParamsE"
OTHER = kernels("sm_90a", "prepare_varlen")
PROOF = kernels("sm_90a", FA3)
WITH_FA3 = library(kernels("sm_80", FA3), OTHER, PROOF, Entry("sm_80", kind=PTX))


def write(root: Path, name: str, data: bytes = WITH_FA3) -> str:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return str(path)


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("vllm/_C.abi3.so", "vllm"),
        ("vllm/_C_stable_libtorch.abi3.so", "vllm"),
        ("vllm/_moe_C.abi3.so", "vllm"),
        ("vllm/_flashmla_C.abi3.so", "vllm"),
        ("vllm/_flashmla_extension_C.abi3.so", "vllm"),
        ("vllm/vllm_flash_attn/_vllm_fa2_C.abi3.so", "vllm"),
        ("vllm/vllm_flash_attn/_vllm_fa3_C.abi3.so", "vllm"),
        ("vllm/vllm_flash_attn/vllm_flash_attn_c.abi3.so", "vllm"),
        ("vllm/third_party/deep_gemm/_C.cpython-312-x86_64-linux-gnu.so", "vllm"),
        ("flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so", "flash-attn"),
        ("flash_attn_3/_C.abi3.so", "flash-attn-3"),
        ("flashattn_hopper_cuda.cpython-312-x86_64-linux-gnu.so", "flash-attn-3"),
    ],
)
def test_modules_and_their_owners(tmp_path: Path, name: str, owner: str) -> None:
    path = write(tmp_path, name)
    families = ("fa3",) if "fa3" in name or owner == "flash-attn-3" else ()
    assert extension_modules.read([tmp_path], "3.12.3") == (
        DeviceCode(path, owner, ("sm_80", "sm_90a"), ("compute_80",), families=families),
    )


@pytest.mark.parametrize(
    "entry", [OTHER, kernels("sm_90", FA3), Entry("sm_90a", kind=PTX, payload=FA3.encode())]
)
def test_a_family_that_is_not_proved_is_not_claimed(tmp_path: Path, entry: Entry) -> None:
    write(tmp_path, "vllm/vllm_flash_attn/_vllm_fa3_C.abi3.so", library(entry))
    (found,) = extension_modules.read([tmp_path], "3.12.3")
    assert (found.families, found.error) == ((), None)


def test_a_cubin_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    damaged = Entry("sm_90a", payload=b"garbage " * 4)
    write(tmp_path, "vllm/vllm_flash_attn/_vllm_fa3_C.abi3.so", library(damaged, PROOF))
    (found,) = extension_modules.read([tmp_path], "3.12.3")
    assert found.families == ("fa3",)


def test_only_the_first_cubins_are_read(tmp_path: Path) -> None:
    name = "vllm/vllm_flash_attn/_vllm_fa3_C.abi3.so"
    for before, families in ((1, ("fa3",)), (100, ())):
        write(tmp_path, name, library(*[OTHER] * before, PROOF))
        (found,) = extension_modules.read([tmp_path], "3.12.3")
        assert found.families == families


@pytest.mark.parametrize(
    "name",
    [
        "vllm/cumem_allocator.abi3.so",
        "vllm/_rust_tool_parser.abi3.so",
        "vllm/third_party/deep_gemm/_C.cpython-313-x86_64-linux-gnu.so",
        "torch/_C.cpython-312-x86_64-linux-gnu.so",
    ],
)
def test_what_is_not_looked_into(tmp_path: Path, name: str) -> None:
    write(tmp_path, name)
    assert extension_modules.read([tmp_path], "3.12.3") == ()


@pytest.mark.parametrize("data", [b"text", b"", WITH_FA3[:-70], b"PK\x03\x04" + b"x" * 40])
def test_one_that_cannot_be_read_hides_no_other(tmp_path: Path, data: bytes) -> None:
    broken = write(tmp_path, "vllm/_C.abi3.so", data)
    write(tmp_path, "vllm/_moe_C.abi3.so")
    first, second = extension_modules.read([tmp_path], "3.12.3")
    assert (first.path, first.owner, first.sass, first.ptx) == (broken, "vllm", (), ())
    assert broken in (first.error or "")
    assert second.error is None


@pytest.mark.parametrize(
    ("name", "python", "expected"),
    [
        ("_C.abi3.so", "3.12.3", True),
        ("_C.so", "3.12.3", True),
        ("_C.cpython-312-x86_64-linux-gnu.so", "3.12.3", True),
        ("_C.cpython-311-x86_64-linux-gnu.so", "3.12.3", False),
        ("_C.cpython-310-aarch64-linux-gnu.so", "3.1.0", False),
    ],
)
def test_loadable(name: str, python: str, expected: bool) -> None:
    assert extension_modules.loadable(name, python) is expected


def test_what_a_module_needs_of_others(tmp_path: Path) -> None:
    path = tmp_path / "vllm/_C.abi3.so"
    path.parent.mkdir()
    wants = [
        Want("memcpy", "libc.so.6", "GLIBC_2.32"),
        Want("_ZNSs", "libstdc++.so.6", "GLIBCXX_3.4.29"),
        Want("_ZSt", "libstdc++.so.6", "CXXABI_1.3.13"),
    ]
    path.write_bytes(shared(*wants, needed=["libcudart.so.13", "libcublas.so.13"]))
    (found,) = extension_modules.read([tmp_path], "3.12.3")
    assert (found.cuda, found.glibc) == ((13,), "2.32")
    assert (found.glibcxx, found.cxxabi) == ("3.4.29", "1.3.13")
