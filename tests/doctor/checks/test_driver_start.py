"""Checks of the driver's libraries, the start of CUDA, the fabric manager and device files."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.doctor.checks.test_toolkit import findings
from tests.doctor.machines import MIB, driver, gpu, healthy, pci

from dsv4_doctor.facts.driver import CudaLibrary, CudaStart, Fabric, Xid
from dsv4_doctor.facts.toolkit import Picks, Toolkits
from dsv4_doctor.report import Finding
from dsv4_doctor.snapshot import Snapshot

OWN = "580.159.04"


def library(version: str | None, directory: str = "/compat", size: int = 90 * MIB) -> CudaLibrary:
    path = f"{directory}/libcuda.so.1"
    return CudaLibrary(path, f"{directory}/libcuda.so.{version}", version, "ld.so.cache", size)


def serving(snapshot: Snapshot) -> dict[str, Finding]:
    return findings(snapshot, purpose="serve")


@pytest.mark.parametrize(
    ("start", "status"),
    [
        (CudaStart(0, 2), "pass"),
        (CudaStart(0, 1), "fail"),
        (CudaStart(802), "fail"),
        (CudaStart(4242), "fail"),
        (CudaStart(None, error="no answer within 4.5 s"), "unknown"),
        (CudaStart(None), "unknown"),
    ],
)
def test_the_start_of_cuda(start: CudaStart, status: str) -> None:
    machine = healthy(driver=driver(start=start))
    assert serving(machine)["driver.cuda.start"].status == status
    assert "driver.cuda.start" not in findings(machine, purpose="build")


def test_each_error_has_its_own_explanation() -> None:
    texts = set()
    for code in (100, 802, 803, 804, 999):
        finding = serving(healthy(driver=driver(start=CudaStart(code))))["driver.cuda.start"]
        assert str(code) in finding.title
        assert finding.source[0].line
        assert finding.remedy is not None
        texts.add(finding.remedy.text)
    assert len(texts) == 5


def test_fewer_gpus_are_no_fault_where_they_were_chosen() -> None:
    one = driver(start=CudaStart(0, 1))
    chosen = healthy(driver=one, environment={"CUDA_VISIBLE_DEVICES": "0"})
    divided = healthy(driver=one, gpus=(gpu(0, mig=True), gpu(1)))
    assert serving(chosen)["driver.cuda.start"].status == "pass"
    assert serving(divided)["driver.cuda.start"].status == "pass"


def test_nobody_asked_nothing_is_said() -> None:
    assert "driver.cuda.start" not in serving(healthy(driver=driver(start=None)))


@pytest.mark.parametrize(
    ("version", "status", "code"),
    [("575.57.08", "fail", "803"), (OWN, "pass", ""), ("590.44.01", "pass", "compatibility")],
)
def test_the_libcuda_that_comes_first_on_a_data_centre_gpu(
    version: str, status: str, code: str
) -> None:
    finding = serving(healthy(driver=driver(libcuda=(library(version),))))["driver.library.first"]
    assert finding.status == status
    assert code in finding.title


@pytest.mark.parametrize(
    ("name", "brand", "status"),
    [
        ("NVIDIA GeForce RTX 4090", "GeForce", "fail"),
        ("NVIDIA TITAN RTX", None, "fail"),
        ("NVIDIA RTX 6000 Ada Generation", "NVIDIA RTX", "warn"),
        ("NVIDIA A100-SXM4-80GB", "NVIDIA", "pass"),
    ],
)
def test_forward_compatibility_is_not_for_every_gpu(
    name: str, brand: str | None, status: str
) -> None:
    machine = healthy(
        driver=driver(libcuda=(library("590.44.01"),)), gpus=(gpu(0, name=name, brand=brand),)
    )
    assert serving(machine)["driver.library.first"].status == status


def test_a_libcuda_of_another_name_is_not_judged_unless_it_is_empty() -> None:
    large = healthy(driver=driver(libcuda=(library(None),)))
    empty = healthy(driver=driver(libcuda=(library(None, size=8000),)))
    assert "driver.library.first" not in serving(large)
    assert serving(empty)["driver.library.first"].status == "fail"


def test_without_a_driver_there_is_nothing_to_shadow() -> None:
    machine = healthy(driver=driver(kernel_module=None, nvml=None, libcuda=(library("1.2.3"),)))
    assert "driver.library.first" not in serving(machine)


@pytest.mark.parametrize(
    ("value", "cuda", "name", "status"),
    [
        ("1", "13.0", "NVIDIA H200", "fail"),
        ("1", "12.4", "NVIDIA H200", None),
        ("1", "12.4", "NVIDIA GeForce RTX 4090", "fail"),
        ("0", "13.0", "NVIDIA H200", None),
    ],
)
def test_the_switch_for_compat(value: str, cuda: str, name: str, status: str | None) -> None:
    machine = healthy(
        driver=driver(cuda=cuda),
        gpus=(gpu(0, name=name, brand=None),),
        environment={"VLLM_ENABLE_CUDA_COMPATIBILITY": value},
    )
    found = serving(machine).get("driver.library.switch")
    assert (found.status if found else None) == status


def test_a_linker_finds_libcuda_in_a_toolkit_too() -> None:
    bare = Toolkits(None, (), Picks(None, None, None))
    without = healthy(driver=driver(libcuda_link=None), toolkits=bare)
    assert serving(without)["driver.library.link"].status == "warn"
    assert "driver.library.link" not in serving(healthy(driver=driver(libcuda_link=None)))
    assert "driver.library.link" not in serving(healthy(toolkits=bare))


@pytest.mark.parametrize(
    ("fabric", "status"),
    [
        (None, None),
        (Fabric(4, "/usr/bin/nv-fabricmanager", OWN, running=True), "pass"),
        (Fabric(4, "/usr/bin/nv-fabricmanager", OWN, running=False), "fail"),
        (Fabric(4, "/usr/bin/nv-fabricmanager", "580.105.08", running=True), "fail"),
        (Fabric(4, "/usr/bin/nv-fabricmanager", None, running=True), "pass"),
        (Fabric(4, None, None, running=False), "fail"),
        (Fabric(4, None, None, running=None), "skip"),
    ],
)
def test_the_fabric_manager(fabric: Fabric | None, status: str | None) -> None:
    machine = healthy(driver=driver(fabric=fabric))
    found = serving(machine).get("driver.fabric.manager")
    assert (found.status if found else None) == status
    assert "driver.fabric.manager" not in findings(machine, purpose="build")


def test_the_packages_of_the_fabric_manager_are_of_the_drivers_version() -> None:
    machine = healthy(driver=driver(fabric=Fabric(4, None, None, running=False)))
    remedy = serving(machine)["driver.fabric.manager"].remedy
    assert remedy is not None
    assert remedy.commands[0].argv[-1] == f"nvidia-fabricmanager-580={OWN}-1"


@pytest.mark.parametrize(
    ("state", "result", "status"),
    [
        ("Completed", 0, "pass"),
        ("Completed", 15, "fail"),
        ("In Progress", None, "fail"),
        ("Not Supported", None, None),
        (None, None, None),
    ],
)
def test_registration_with_the_fabric(
    state: str | None, result: int | None, status: str | None
) -> None:
    found = serving(healthy(gpus=(gpu(0, fabric_state=state, fabric_status=result),)))
    assert (found["gpu.fabric.state"].status if "gpu.fabric.state" in found else None) == status


def test_channels_of_imex_are_for_domains_of_several_machines() -> None:
    inside = (gpu(0, fabric_cluster="11111111-2222-3333-4444-555555555555"),)
    assert "driver.imex.channels" not in serving(healthy())
    assert serving(healthy(gpus=inside))["driver.imex.channels"].status == "warn"
    good = healthy(gpus=inside, driver=driver(imex_channels=1))
    assert serving(good)["driver.imex.channels"].status == "pass"


def test_another_kernel_driver_holds_the_gpu() -> None:
    held = healthy(pci=(pci(0, driver="nouveau"), pci(1)))
    finding = serving(held)["driver.kernel.bound"]
    assert finding.status == "fail"
    assert "nouveau" in finding.title
    assert finding.remedy is not None
    assert "blacklist" in finding.remedy.text
    assert serving(healthy(pci=(pci(0, driver="vfio-pci"),)))["driver.kernel.bound"].remedy
    assert "driver.kernel.bound" not in serving(healthy(pci=(pci(0, driver=None),)))
    only_loaded = driver(kernel_module=None, nvml=None, modules=("nouveau",))
    assert "driver.kernel.bound" in serving(healthy(driver=only_loaded))


def test_device_files() -> None:
    nodes = {"/dev/nvidia-uvm": True, "/dev/nvidia0": False}
    closed = healthy(driver=driver(device_nodes=nodes, start=CudaStart(100)))
    assert "/dev/nvidia0" in serving(closed)["driver.device.access"].title
    without = {"/dev/nvidia0": True, "/dev/nvidiactl": True}
    missing = healthy(driver=driver(device_nodes=without, start=CudaStart(999)))
    assert "nvidia-uvm" in serving(missing)["driver.device.access"].title
    unasked = healthy(driver=driver(device_nodes=without, start=None))
    assert "driver.device.access" in serving(unasked)
    started = healthy(driver=driver(device_nodes=without))
    assert "driver.device.access" not in serving(started)
    assert "driver.device.access" not in serving(healthy())


def test_the_librarys_version_serves_where_nvml_refuses() -> None:
    refused = driver(nvml=None, nvml_error="Driver/library version mismatch")
    assert serving(healthy(driver=refused))["driver.nvidia.coherence"].status == "pass"
    other = replace(refused, nvml_library="590.1.1")
    assert serving(healthy(driver=other))["driver.nvidia.coherence"].status == "fail"


def contained(snapshot: Snapshot) -> Snapshot:
    assert snapshot.host is not None
    return replace(snapshot, host=replace(snapshot.host, container="docker"))


@pytest.mark.parametrize(
    ("error", "inside", "words"),
    [
        ("Driver/library version mismatch", False, "reboot"),
        ("Unknown Error", True, "systemd took its devices away"),
        ("Unknown Error", False, "install the driver"),
        ("libnvidia-ml.so.1: cannot open shared object file", True, "--gpus all"),
        ("libnvidia-ml.so.1: cannot open shared object file", False, "user-space part"),
        ("something new", True, "start the container with its GPUs"),
    ],
)
def test_what_nvml_says_tells_what_to_do(error: str, inside: bool, words: str) -> None:
    silent = healthy(driver=driver(nvml=None, nvml_library=None, nvml_error=error))
    finding = serving(contained(silent) if inside else silent)["driver.nvidia.present"]
    assert finding.status == "fail"
    assert finding.remedy is not None
    assert words in finding.remedy.text


@pytest.mark.parametrize(
    ("files", "secure", "words"),
    [
        ((), None, "dkms autoinstall"),
        (("/lib/modules/6.18.44/updates/dkms/nvidia.ko",), True, "mokutil"),
        (("/lib/modules/6.18.44/updates/dkms/nvidia.ko",), False, "modprobe nvidia"),
    ],
)
def test_libraries_without_the_kernel_module(
    files: tuple[str, ...], secure: bool | None, words: str
) -> None:
    machine = healthy(driver=driver(kernel_module=None, nvml=None, module_files=files))
    assert machine.host is not None
    machine = replace(machine, host=replace(machine.host, secure_boot=secure))
    finding = serving(machine)["driver.nvidia.present"]
    assert "not loaded" in finding.title
    assert finding.remedy is not None
    assert words in finding.remedy.text
    assert findings(machine)["driver.nvidia.present"].status == "skip"
    assert "no NVIDIA driver" in serving(contained(machine))["driver.nvidia.present"].title


def test_what_the_driver_says_in_the_kernels_log() -> None:
    told = ("RmInitAdapter failed", "requires use of the NVIDIA open kernel modules")
    finding = serving(healthy(driver=driver(messages=told)))["driver.log.complaint"]
    assert finding.status == "warn"
    assert "open kernel module" in finding.title
    assert "driver.log.complaint" not in serving(healthy())
    assert "driver.log.complaint" not in serving(healthy(driver=driver(messages=("new",))))


def test_a_driver_of_windows_is_not_absent() -> None:
    none = driver(
        kernel_module=None,
        nvml=None,
        nvml_library=None,
        nvml_error="not found",
        device_nodes={"/dev/dxg": True},
    )
    machine = healthy(driver=none)
    assert machine.host is not None
    wsl = replace(machine, host=replace(machine.host, wsl=True))
    assert serving(machine)["driver.nvidia.present"].status == "fail"
    assert serving(wsl)["driver.nvidia.present"].status == "unknown"


@pytest.mark.parametrize(("code", "told"), [(79, True), (31, False), (13, False)])
def test_only_errors_of_the_hardware_count(code: int, told: bool) -> None:
    machine = healthy(driver=driver(xids=(Xid("0000:17:00", code),)))
    assert ("gpu.log.xid" in serving(machine)) is told


def test_a_log_that_may_not_be_read_says_nothing() -> None:
    assert "gpu.log.xid" not in serving(healthy(driver=driver(xids=None)))
