"""Checks of driver, GPUs, BAR1 and architectures."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.doctor.checks.test_toolkit import findings
from tests.doctor.machines import MIB, gpu, healthy, pci, python_environment, regions

from dsv4_doctor.facts.driver import Driver
from dsv4_doctor.facts.gpu import Gpu
from dsv4_doctor.snapshot import Snapshot


def with_bar1(size: int, *, count: int = 2, start: int = 0x100000000000) -> Snapshot:
    gpus = tuple(replace(gpu(index), bar1=size) for index in range(count))
    controllers = tuple(pci(index, regions=regions(size, start)) for index in range(count))
    return healthy(gpus=gpus, pci=controllers)


def test_bar1_of_hopper_is_region_2() -> None:
    finding = findings(healthy())["gpu.bar1.size"]
    assert finding.status == "pass"
    assert "262144 MiB >= 143771 MiB" in finding.title
    assert any("region 2: 262144 MiB" in evidence.what for evidence in finding.evidence)


def test_a_small_bar1_matters_only_between_gpus() -> None:
    alone = findings(with_bar1(256 * MIB, count=1))["gpu.bar1.size"]
    several = findings(with_bar1(256 * MIB, count=2))["gpu.bar1.size"]
    assert alone.status == "pass"
    assert "no effect on a single GPU" in alone.title
    assert several.status == "warn"
    assert several.remedy is not None


def test_nothing_is_promised_for_speed() -> None:
    for count in (1, 2):
        finding = findings(with_bar1(256 * MIB, count=count))["gpu.bar1.size"]
        text = f"{finding.title} {finding.expected} {finding.remedy}".lower()
        assert not any(word in text for word in ("faster", "speed", "throughput", "performance"))


def named(name: str) -> Snapshot:
    machine = with_bar1(256 * MIB)
    return replace(machine, gpus=tuple(replace(each, name=name) for each in machine.gpus or ()))


def test_a_bar1_that_no_firmware_enlarges_is_no_matter_of_the_firmware() -> None:
    turing = findings(named("Tesla T4"))["gpu.bar1.size"]
    assert turing.remedy is not None
    assert "none is known" in turing.remedy.text
    assert any("BAR1 seen on Tesla T4: 256 MiB" in each.requirement for each in turing.source)
    hopper = findings(named("NVIDIA H200"))["gpu.bar1.size"]
    assert hopper.remedy is not None
    assert "Above 4G decoding" in hopper.remedy.text
    assert any("262144 MiB" in each.requirement for each in hopper.source)
    other = findings(named("NVIDIA X1"))["gpu.bar1.size"]
    assert other.remedy == hopper.remedy
    assert len(other.source) == 1


def test_an_unassigned_bar1_fails() -> None:
    assert findings(with_bar1(256 * MIB, start=0))["gpu.bar1.size"].status == "fail"


def test_sysfs_serves_where_nvml_does_not_tell() -> None:
    machine = healthy(gpus=(replace(gpu(), bar1=None),), pci=(pci(),))
    assert findings(machine)["gpu.bar1.size"].status == "pass"


def test_neither_tells_is_unknown() -> None:
    machine = healthy(gpus=(replace(gpu(), bar1=None),), pci=())
    assert findings(machine)["gpu.bar1.size"].status == "unknown"


def test_neither_the_module_parameter_nor_the_resize_attribute_is_evidence() -> None:
    machine = healthy(driver=replace(healthy().driver, parameters={"EnableResizableBar": "0"}))  # type: ignore[type-var]
    assert findings(machine)["gpu.bar1.size"].status == "pass"


@pytest.mark.parametrize(
    ("driver", "status"),
    [
        (Driver("580.159.04", "open", "580.159.04", "13.0", None), "pass"),
        (Driver("580.1", "open", "575.2", "12.9", None), "fail"),
    ],
)
def test_kernel_module_and_library_must_agree(driver: Driver, status: str) -> None:
    made = findings(healthy(driver=driver))
    assert made["driver.nvidia.coherence"].status == status


def test_a_loaded_driver_that_nvml_cannot_reach_fails_for_every_purpose() -> None:
    machine = healthy(driver=Driver("580.1", "open", None, None, "Driver/library version mismatch"))
    finding = findings(machine)["driver.nvidia.present"]
    assert finding.status == "fail"
    assert "Driver/library version mismatch" in finding.title


@pytest.mark.parametrize(("version", "status"), [("575.51.03", "fail"), ("580.65.06", "pass")])
def test_cuda_13_needs_driver_580(version: str, status: str) -> None:
    machine = healthy(driver=Driver(version, "open", version, "12.9", None))
    assert findings(machine, purpose="serve")["driver.cuda.version"].status == status
    assert "driver.cuda.version" not in findings(machine, purpose="build")


def ada() -> Snapshot:
    return healthy(gpus=(Gpu(0, "NVIDIA L40S", None, "8.9", 46068 * MIB, 65536 * MIB),), pci=())


def test_building_for_another_gpu_is_a_warning_serving_a_failure() -> None:
    assert findings(ada())["arch.gpu.match"].status == "warn"
    assert findings(ada(), purpose="serve")["arch.gpu.match"].status == "fail"


def test_without_an_arch_the_gpus_decide() -> None:
    made = findings(ada(), archs=(), features=("fa3",))
    assert made["feature.fa3.arch"].status == "fail"
    assert "sm_89" in made["feature.fa3.arch"].title


def test_an_arch_that_the_toolkit_cannot_compile_fails() -> None:
    assert findings(healthy(), archs=("sm_121",))["arch.toolkit.compiles"].status == "fail"


@pytest.mark.parametrize(
    ("arch", "release", "status"),
    [
        ("sm_90", "0.24.0", "pass"),
        ("sm_121", "0.24.0", "pass"),
        ("sm_70", "0.24.0", "fail"),
        ("sm_120", "0.7.2", "fail"),
    ],
)
def test_the_release_supports_the_arch(arch: str, release: str, status: str) -> None:
    made = findings(healthy(), archs=(arch,), release=release)
    assert made["arch.release.supports"].status == status
    assert made["arch.release.supports"].source[0].line


def test_a_gpu_that_does_not_tell_its_capability_does_not_break_the_report() -> None:
    machine = healthy(gpus=(replace(gpu(), compute_capability=None),), pci=())
    made = findings(machine, archs=(), purpose="all")
    assert made["gpu.device.present"].status == "pass"


def test_headers_are_needed_for_serving_too() -> None:
    machine = healthy(python=python_environment(headers=None))
    finding = findings(machine, purpose="serve")["python.headers.present"]
    assert finding.status == "fail"
    assert finding.remedy is not None
    assert finding.remedy.commands[0].argv[-1] == "python3.12-dev"


@pytest.mark.parametrize(
    ("arch", "fa3", "model"),
    [("sm_90", "pass", "pass"), ("sm_100", "skip", "pass"), ("sm_89", "skip", "warn")],
)
def test_default_features_give_way_to_a_gpu_that_they_are_not_for(
    arch: str, fa3: str, model: str
) -> None:
    made = findings(healthy(), archs=(arch,), features=("deepseek-v4", "fa3"), asked=False)
    assert made["feature.fa3.arch"].status == fa3
    assert made["feature.deepseek-v4.arch"].status == model
