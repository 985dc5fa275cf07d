"""The shared objects that are looked into, and those that cannot be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dsv4_doctor.arch import Arch
from dsv4_doctor.binary import device_code
from dsv4_doctor.errors import InputError
from dsv4_doctor.facts.python import DeviceCode
from dsv4_doctor.probes import extension_modules, kernel_proof

if TYPE_CHECKING:
    from pathlib import Path

ARCHS = ((Arch(80), Arch(90, "a")), (Arch(80),))


@pytest.fixture
def inspected(monkeypatch: pytest.MonkeyPatch) -> None:
    """An inspector that finds the same in every file, and refuses one that holds ``broken``."""

    def device_archs(path: Path) -> tuple[tuple[Arch, ...], tuple[Arch, ...]]:
        if path.read_text() == "broken":
            msg = f"{path}: not an ELF file"
            raise InputError(msg)
        return ARCHS

    def proved(path: Path, family: str) -> bool:
        return family == "fa3" and path.read_text() != "without"

    monkeypatch.setattr(device_code, "device_archs", device_archs)
    monkeypatch.setattr(kernel_proof, "proved", proved)


def write(root: Path, name: str, text: str = "") -> str:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
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
        ("vllm/third_party/deep_gemm/_C.cpython-312-x86_64-linux-gnu.so", "vllm"),
        ("flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so", "flash-attn"),
        ("flash_attn_3/_C.abi3.so", "flash-attn-3"),
        ("flashattn_hopper_cuda.cpython-312-x86_64-linux-gnu.so", "flash-attn-3"),
    ],
)
def test_modules_and_their_owners(tmp_path: Path, inspected: None, name: str, owner: str) -> None:
    path = write(tmp_path, name)
    families = ("fa3",) if "fa3" in name or owner == "flash-attn-3" else ()
    assert extension_modules.read([tmp_path], "3.12.3") == (
        DeviceCode(path, owner, ("sm_80", "sm_90a"), ("compute_80",), families=families),
    )


def test_a_family_that_is_not_proved_is_not_claimed(tmp_path: Path, inspected: None) -> None:
    write(tmp_path, "vllm/vllm_flash_attn/_vllm_fa3_C.abi3.so", "without")
    (found,) = extension_modules.read([tmp_path], "3.12.3")
    assert (found.families, found.error) == ((), None)


@pytest.mark.parametrize(
    "name",
    [
        "vllm/cumem_allocator.abi3.so",
        "vllm/_rust_tool_parser.abi3.so",
        "vllm/third_party/deep_gemm/_C.cpython-313-x86_64-linux-gnu.so",
        "torch/_C.cpython-312-x86_64-linux-gnu.so",
    ],
)
def test_what_is_not_looked_into(tmp_path: Path, inspected: None, name: str) -> None:
    write(tmp_path, name)
    assert extension_modules.read([tmp_path], "3.12.3") == ()


def test_one_that_cannot_be_read_hides_no_other(tmp_path: Path, inspected: None) -> None:
    broken = write(tmp_path, "vllm/_C.abi3.so", "broken")
    write(tmp_path, "vllm/_moe_C.abi3.so")
    first, second = extension_modules.read([tmp_path], "3.12.3")
    assert first == DeviceCode(broken, "vllm", (), (), error=f"{broken}: not an ELF file")
    assert second.error is None


def test_a_real_inspector_on_a_file_that_is_no_library(tmp_path: Path) -> None:
    path = write(tmp_path, "vllm/_C.abi3.so", "text")
    (found,) = extension_modules.read([tmp_path], "3.12.3")
    assert found.sass == ()
    assert path in (found.error or "")


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
