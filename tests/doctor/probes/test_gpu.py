"""GPUs from NVML: values, what NVML would not say, and machines without any."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.probes.fakes import (
    GIB,
    GPU_IS_LOST,
    NO_PERMISSION,
    NOT_SUPPORTED,
    FakeGpu,
    FakeNvml,
)

from dsv4_doctor.facts.gpu import Gpu
from dsv4_doctor.probes import gpu
from dsv4_doctor.probes.registry import Request

if TYPE_CHECKING:
    from collections.abc import Callable


def test_every_gpu_with_its_values(use_nvml: Callable[[Any], None]) -> None:
    second = FakeGpu(bus_id=b"00000001:C1:00.0", capability=(12, 0), mig=1)
    use_nvml(FakeNvml(FakeGpu(), second))
    assert gpu.probe(Request()) == (
        Gpu(
            0, "NVIDIA H200", "0000:17:00.0", "9.0", 140 * GIB, 256 * GIB, mig=False, memory_used=0
        ),
        Gpu(
            1, "NVIDIA H200", "0001:c1:00.0", "12.0", 140 * GIB, 256 * GIB, mig=True, memory_used=0
        ),
    )


@pytest.mark.parametrize("code", [NOT_SUPPORTED, NO_PERMISSION])
def test_each_value_that_nvml_refuses_is_none(use_nvml: Callable[[Any], None], code: int) -> None:
    names = ("name", "pci", "capability", "memory", "bar1", "mig")
    use_nvml(FakeNvml(FakeGpu(codes=dict.fromkeys(names, code))))
    assert gpu.probe(Request()) == (Gpu(0, "GPU 0", None, None, None, None),)


def test_one_refused_value_leaves_the_others(use_nvml: Callable[[Any], None]) -> None:
    use_nvml(FakeNvml(FakeGpu(codes={"bar1": NOT_SUPPORTED})))
    (found,) = gpu.probe(Request())
    assert found.bar1 is None
    assert found.memory == 140 * GIB


def test_a_missing_symbol_is_a_refused_value(use_nvml: Callable[[Any], None]) -> None:
    library = FakeNvml(FakeGpu())
    del library.functions["nvmlDeviceGetMigMode"]
    use_nvml(library)
    assert gpu.probe(Request())[0].mig is None


def test_a_lost_gpu_is_still_there(use_nvml: Callable[[Any], None]) -> None:
    use_nvml(FakeNvml(FakeGpu(codes={"handle": GPU_IS_LOST}), FakeGpu()))
    lost, good = gpu.probe(Request())
    assert lost.name.startswith("GPU 0: ")
    assert "lost" in lost.name.lower()
    assert (lost.pci, lost.memory) == (None, None)
    assert good.name == "NVIDIA H200"


def test_without_a_driver_there_are_none(no_nvml: None) -> None:
    assert gpu.probe(Request()) == ()


def test_a_driver_without_gpus(use_nvml: Callable[[Any], None]) -> None:
    use_nvml(FakeNvml())
    assert gpu.probe(Request()) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("00000000:17:00.0", "0000:17:00.0"),
        ("0000:00:06.0", "0000:00:06.0"),
        ("00010000:AF:1F.7", "10000:af:1f.7"),
        ("17:00.0", None),
        ("", None),
    ],
)
def test_bus_ids(text: str, expected: str | None) -> None:
    assert gpu.parse_bus_id(text) == expected


@given(st.text())
def test_any_text_as_bus_id(text: str) -> None:
    parsed = gpu.parse_bus_id(text)
    assert parsed is None or gpu.parse_bus_id(parsed) == parsed
