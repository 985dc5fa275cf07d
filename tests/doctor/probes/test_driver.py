"""The kernel driver: its banner in every form, its parameters, NVML's versions."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.probes.fakes import FakeGpu, FakeNvml

from dsv4_doctor.facts.driver import CudaStart, Driver
from dsv4_doctor.probes import cuda_start, driver
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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nvidia_uvm 1 0 - Live 0x0\nnvidia 9 1 nvidia_uvm, Live 0x0\n", ("nvidia", "nvidia_uvm")),
        ("nouveau 2465792 0 - Live 0x0\next4 1 0\n", ("nouveau",)),
        ("", ()),
    ],
)
def test_kernel_modules(text: str, expected: tuple[str, ...]) -> None:
    assert driver.parse_modules(text) == expected


def test_device_files_and_who_may_open_them(tmp_path: Path) -> None:
    for name in ("nvidia0", "nvidiactl", "nvidia-uvm", "nvidia-modeset", "null"):
        (tmp_path / name).touch()
    assert driver.device_nodes(tmp_path) == {
        str(tmp_path / "nvidia-uvm"): True,
        str(tmp_path / "nvidia0"): True,
        str(tmp_path / "nvidiactl"): True,
    }


def test_without_a_gpu_nobody_is_asked_to_start_cuda(tmp_path: Path, no_nvml: None) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/nvidiactl").touch()
    assert driver.survey(tmp_path).start is None


def test_with_a_gpu_the_start_of_cuda_is_a_fact(
    tmp_path: Path, no_nvml: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/nvidia0").touch()
    monkeypatch.setattr(cuda_start, "ask", lambda: CudaStart(802))
    assert driver.survey(tmp_path).start == CudaStart(802)


def test_the_files_of_a_module_that_is_not_loaded(tmp_path: Path, no_nvml: None) -> None:
    directory = tmp_path / "lib/modules" / os.uname().release / "updates/dkms"
    directory.mkdir(parents=True)
    (directory / "nvidia.ko.zst").touch()
    (directory / "nvidia-uvm.ko.zst").touch()
    assert driver.survey(tmp_path).module_files == (str(directory / "nvidia.ko.zst"),)


def test_channels_of_imex(tmp_path: Path, no_nvml: None) -> None:
    channels = tmp_path / "dev/nvidia-caps-imex-channels"
    channels.mkdir(parents=True)
    (channels / "channel0").touch()
    assert driver.survey(tmp_path).imex_channels == 1


@pytest.fixture
def filesystem(tmp_path: Path) -> Path:
    directory = tmp_path / "proc/driver/nvidia"
    directory.mkdir(parents=True)
    (directory / "version").write_text(OPEN)
    (directory / "params").write_text(PARAMETERS)
    return tmp_path


def test_module_and_nvml(filesystem: Path, use_nvml: Callable[[Any], None]) -> None:
    use_nvml(FakeNvml(FakeGpu(), cuda=12090))
    found = driver.survey(filesystem)
    assert found.kernel_module == found.nvml == "580.159.04"
    assert (found.flavour, found.cuda, found.nvml_error) == ("open", "12.9", None)
    assert found.parameters["EnableResizableBar"] == "0"


def test_a_module_without_nvml_is_a_fact(filesystem: Path, no_nvml: None) -> None:
    found = driver.survey(filesystem)
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
