"""One NVML session for all probes, and its own words when there is none."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pynvml
import pytest
from tests.doctor.probes.fakes import NOT_SUPPORTED, FakeNvml

from dsv4_doctor.probes import nvml

if TYPE_CHECKING:
    from collections.abc import Callable

DRIVER_NOT_LOADED = 9


def test_it_is_started_once_for_all(use_nvml: Callable[[Any], None]) -> None:
    library = FakeNvml()
    use_nvml(library)
    threads = [threading.Thread(target=nvml.session) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert nvml.session() is pynvml
    assert library.starts == 1


def test_without_a_library_the_loader_says_why(no_nvml: None) -> None:
    with pytest.raises(nvml.NvmlError, match=r"libnvidia-ml.*cannot open shared object"):
        nvml.session()


def test_a_library_in_a_place_that_the_loader_does_not_know(
    no_nvml: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def load(path: str) -> None:
        asked.append(path)
        if not path.startswith("/wsl/"):
            raise OSError

    monkeypatch.setattr(nvml, "PLACES", ("/nowhere", "/wsl", "/later"))
    monkeypatch.setattr("dsv4_doctor.probes.nvml.ctypes.CDLL", load)
    nvml._load()
    assert asked == [nvml.LIBRARY, f"/nowhere/{nvml.LIBRARY}", f"/wsl/{nvml.LIBRARY}"]


def test_a_library_that_does_not_start_says_why(use_nvml: Callable[[Any], None]) -> None:
    use_nvml(FakeNvml(start=DRIVER_NOT_LOADED))
    with pytest.raises(nvml.NvmlError, match="Driver Not Loaded"):
        nvml.session()


def test_a_failed_start_is_tried_again(use_nvml: Callable[[Any], None]) -> None:
    library = FakeNvml(start=DRIVER_NOT_LOADED)
    use_nvml(library)
    with pytest.raises(nvml.NvmlError):
        nvml.session()
    library.start = 0
    assert nvml.session() is pynvml


def test_what_nvml_does_not_answer_is_none(use_nvml: Callable[[Any], None]) -> None:
    def refused() -> int:
        raise pynvml.NVMLError(NOT_SUPPORTED)

    use_nvml(FakeNvml())
    assert nvml.ask(refused) is None
    assert nvml.ask(pynvml.nvmlSystemGetNVMLVersion) is None
    assert nvml.ask(lambda: 7) == 7
