"""State that probes keep in a process, taken away between tests; NVML replaced by a fake."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pynvml
import pytest

from dsv4_doctor.probes import interpreter, nvml, smi
from dsv4_doctor.probes.shared import Shared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(autouse=True)
def forget_interpreters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Interpreters are remembered for the life of a process; not from test to test."""
    monkeypatch.setattr(interpreter, "_known", {})


@pytest.fixture
def use_nvml(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Any], None]]:
    """Return a function that puts a library in the place of NVML's."""

    def use(library: Any) -> None:
        pynvml._nvmlGetFunctionPointer_cache.clear()
        monkeypatch.setattr(pynvml, "nvmlLib", library)

    monkeypatch.setattr(nvml, "_session", Shared(nvml._start))
    yield use
    pynvml._nvmlGetFunctionPointer_cache.clear()


@pytest.fixture
def no_nvml(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without the NVIDIA driver, whatever this one has."""
    monkeypatch.setattr(nvml, "_session", Shared(nvml._start))
    monkeypatch.setattr(nvml, "LIBRARY", "libnvidia-ml-of-no-machine.so.1")
    monkeypatch.setattr(nvml, "PLACES", ())
    monkeypatch.setattr(smi, "PROGRAMS", ())
    monkeypatch.setattr(smi, "_answer", Shared(smi._ask))
    monkeypatch.setattr(pynvml, "nvmlLib", None)
