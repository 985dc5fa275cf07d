from __future__ import annotations

import re
from dataclasses import replace

import pytest

from dsv4_build.toolchain.pins import Selection, cuda_13_0
from dsv4_doctor.errors import UsageError

# What nvcc 13.0.88 asks for, and what PyPI gives when only nvcc is asked for.
ONE_RELEASE = ("nvidia-cuda-nvcc", "nvidia-cuda-crt", "nvidia-nvvm")


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_every_part_has_one_version_and_a_hash(machine: str) -> None:
    lines = Selection(cuda_13_0(), "full", machine).requirements.splitlines()
    assert len(lines) == len(cuda_13_0().parts)
    pattern = re.compile(r"nvidia-[a-z0-9-]+==[\d.]+ --hash=sha256:[0-9a-f]{64}")
    assert all(pattern.fullmatch(line) for line in lines)
    assert lines == sorted(lines)


def test_the_compiler_is_of_one_release() -> None:
    versions = {part.version for part in cuda_13_0().parts if part.name in ONE_RELEASE}
    assert versions == {cuda_13_0().nvcc}


def test_what_compiles_is_part_of_the_whole() -> None:
    some = Selection(cuda_13_0(), "compile", "x86_64").parts
    whole = Selection(cuda_13_0(), "full", "x86_64").parts
    assert set(ONE_RELEASE) <= {part.name for part in some}
    assert {part.name for part in some} < {part.name for part in whole}
    assert "nvidia-cublas" in {part.name for part in whole}


def test_another_pin_is_another_directory() -> None:
    pins = cuda_13_0()
    changed = replace(pins, parts=(replace(pins.parts[0], version="1.0"), *pins.parts[1:]))
    names = {
        Selection(pins, "compile", "x86_64").tree_name,
        Selection(pins, "full", "x86_64").tree_name,
        Selection(pins, "compile", "aarch64").tree_name,
        Selection(changed, "compile", "x86_64").tree_name,
    }
    assert len(names) == 4


def test_a_machine_without_wheels() -> None:
    with pytest.raises(UsageError, match="known: aarch64, x86_64") as caught:
        Selection(cuda_13_0(), "compile", "riscv64")
    assert "--toolchain system" in caught.value.hint
