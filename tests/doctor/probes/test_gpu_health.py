"""Health of one GPU: settings, errors, links and the fabric, as NVML tells them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.doctor.probes.fakes import FakeGpu, FakeNvml

from dsv4_doctor.facts.gpu import Gpu
from dsv4_doctor.probes import gpu
from dsv4_doctor.probes.registry import Request

if TYPE_CHECKING:
    from collections.abc import Callable


def read(use_nvml: Callable[[Any], None], fake: FakeGpu) -> Gpu:
    use_nvml(FakeNvml(fake))
    return gpu.probe(Request())[0]


def test_settings(use_nvml: Callable[[Any], None]) -> None:
    found = read(
        use_nvml,
        FakeGpu(
            answers={
                "nvmlDeviceGetBrand": (5,),
                "nvmlDeviceGetPersistenceMode": (1,),
                "nvmlDeviceGetComputeMode": (3,),
                "nvmlDeviceGetPerformanceState": (8,),
                "nvmlDeviceGetEnforcedPowerLimit": (300_000,),
                "nvmlDeviceGetPowerManagementDefaultLimit": (450_000,),
                "nvmlDeviceGetDisplayActive": (1,),
            }
        ),
    )
    assert (found.brand, found.persistence, found.display) == ("GeForce", True, True)
    assert (found.compute_mode, found.performance_state) == ("Exclusive_Process", 8)
    assert (found.power_limit, found.power_limit_default) == (300.0, 450.0)


def test_only_faults_count_as_throttling(use_nvml: Callable[[Any], None]) -> None:
    idle = FakeGpu(answers={"nvmlDeviceGetCurrentClocksEventReasons": (0x1 | 0x2 | 0x4,)})
    hot = FakeGpu(answers={"nvmlDeviceGetCurrentClocksEventReasons": (0x48,)})
    assert read(use_nvml, idle).throttle == ()
    assert read(use_nvml, hot).throttle == ("hw_slowdown", "hw_thermal_slowdown")


def test_the_older_name_of_the_same_question(use_nvml: Callable[[Any], None]) -> None:
    old = FakeGpu(answers={"nvmlDeviceGetCurrentClocksThrottleReasons": (0x80,)})
    assert read(use_nvml, old).throttle == ("hw_power_brake_slowdown",)


def test_errors_of_memory(use_nvml: Callable[[Any], None]) -> None:
    found = read(
        use_nvml,
        FakeGpu(
            answers={
                "nvmlDeviceGetEccMode": (1, 1),
                "nvmlDeviceGetTotalEccErrors": (3,),
                "nvmlDeviceGetRemappedRows": (1, 12, 1, 0),
                "nvmlDeviceGetRetiredPagesPendingStatus": (0,),
            },
            fields={230: 1},
        ),
    )
    assert (found.ecc, found.ecc_uncorrected, found.remapped_rows) == (True, 3, 12)
    assert (found.remap_pending, found.remap_failed) == (True, False)
    assert (found.retirement_pending, found.recovery_action) == (False, "GPU Reset")


def test_each_nvlink_that_the_gpu_has(use_nvml: Callable[[Any], None]) -> None:
    assert read(use_nvml, FakeGpu(fields={91: 3}, links=(1, 0, 1))).nvlinks == (True, False, True)
    assert read(use_nvml, FakeGpu()).nvlinks == ()


def test_the_fabric(use_nvml: Callable[[Any], None]) -> None:
    done = read(use_nvml, FakeGpu(fabric={"state": 3, "status": 0}))
    assert (done.fabric_state, done.fabric_status) == ("Completed", 0)
    assert done.fabric_cluster == "00000000-0000-0000-0000-000000000000"
    waiting = read(use_nvml, FakeGpu(fabric={"state": 2, "status": 999}))
    assert (waiting.fabric_state, waiting.fabric_status) == ("In Progress", None)


def test_what_nvml_does_not_tell_is_not_there(use_nvml: Callable[[Any], None]) -> None:
    found = read(use_nvml, FakeGpu())
    assert (found.throttle, found.ecc_uncorrected, found.remap_pending) == (None, None, None)
    assert (found.fabric_state, found.power_limit, found.recovery_action) == (None, None, None)
