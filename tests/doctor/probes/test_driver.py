"""The kernel driver: its banner in every form, its parameters, NVML's versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.probes.fakes import FakeGpu, FakeNvml

from dsv4_doctor.facts.driver import Driver
from dsv4_doctor.probes import driver
from dsv4_doctor.probes.driver import KernelModule

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OPEN = """\
NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (nixbld@)
GCC version:  gcc version 15.3.0 (GCC)
"""
PARAMETERS = """\
ResmanDebugLevel: 4294967295
EnableResizableBar: 0
EnableGpuFirmware: 18
CoherentGPUMemoryMode: ""
RegistryDwords: "RMForcePcieConfigSave=0x1"
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (OPEN, KernelModule("580.159.04", "open")),
        (
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 2023",
            KernelModule("535.104.05", "proprietary"),
        ),
        (
            "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  575.51  Release Build\n",
            KernelModule("575.51", "open"),
        ),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  (nixbld@)\n", None),
        ("GCC version:  gcc version 15.300.0 (GCC)\n", None),
        ("", None),
    ],
)
def test_the_banner(text: str, expected: KernelModule | None) -> None:
    assert driver.parse_version(text) == expected


def test_selected_parameters_without_quotes() -> None:
    assert driver.parse_parameters(PARAMETERS) == {
        "CoherentGPUMemoryMode": "",
        "EnableGpuFirmware": "18",
        "EnableResizableBar": "0",
        "RegistryDwords": "RMForcePcieConfigSave=0x1",
    }


@given(st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    driver.parse_version(text)
    assert set(driver.parse_parameters(text)) <= set(driver.PARAMETERS)


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    directory = tmp_path / "driver/nvidia"
    directory.mkdir(parents=True)
    (directory / "version").write_text(OPEN)
    (directory / "params").write_text(PARAMETERS)
    return tmp_path


def test_module_and_nvml(proc: Path, use_nvml: Callable[[Any], None]) -> None:
    use_nvml(FakeNvml(FakeGpu(), cuda=12090))
    found = driver.survey(proc)
    assert found.kernel_module == found.nvml == "580.159.04"
    assert (found.flavour, found.cuda, found.nvml_error) == ("open", "12.9", None)
    assert found.parameters["EnableResizableBar"] == "0"


def test_a_module_without_nvml_is_a_fact(proc: Path, no_nvml: None) -> None:
    found = driver.survey(proc)
    assert found.kernel_module == "580.159.04"
    assert found.nvml is None
    assert found.nvml_error is not None


def test_no_driver_at_all(tmp_path: Path, no_nvml: None) -> None:
    found = driver.survey(tmp_path)
    assert found == Driver(None, None, None, None, found.nvml_error, {})
    assert "libnvidia-ml" in (found.nvml_error or "")


def test_an_old_library_that_lacks_a_function(
    tmp_path: Path, use_nvml: Callable[[Any], None]
) -> None:
    library = FakeNvml()
    del library.functions["nvmlSystemGetCudaDriverVersion_v2"]
    use_nvml(library)
    found = driver.survey(tmp_path)
    assert (found.nvml, found.cuda, found.nvml_error) == ("580.159.04", None, None)
