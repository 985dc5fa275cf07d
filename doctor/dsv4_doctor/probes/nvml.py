"""The NVML session that the probes of driver and GPUs share."""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from dsv4_doctor.probes.shared import Shared

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

LIBRARY = "libnvidia-ml.so.1"
# Where WSL2 and container runtimes put it without telling the loader.
PLACES = ("/usr/lib/wsl/lib", "/usr/local/nvidia/lib64", "/usr/local/nvidia/lib")


class NvmlError(Exception):
    """NVML is not there or does not start; the message is its own text."""


class NoLibraryError(NvmlError):
    """The library cannot be loaded into this process."""


def session() -> Any:
    """Return the module ``pynvml`` with NVML initialised, once in a process.

    It is never shut down: the process ends soon, and a second start would cost as much again.

    Raises:
        NvmlError: There is no library, or it does not start.
    """
    return _session.get()


def ask(question: Callable[[], T]) -> T | None:
    """Return NVML's answer, ``None`` for what it does not support, allow or know."""
    import pynvml  # noqa: PLC0415

    try:
        return question()
    except (pynvml.NVMLError, UnicodeDecodeError):
        return None


def _start() -> Any:
    loaded = sys.modules.get("pynvml")
    if getattr(loaded, "nvmlLib", None) is None:
        # Importing pynvml costs far more than asking the loader whether there is a library.
        _load()
    import pynvml  # noqa: PLC0415

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        raise NvmlError(str(error)) from error
    return pynvml


def _load() -> None:
    """Load the library, so that pynvml finds it by its name wherever it lies.

    Raises:
        NoLibraryError: It is in none of the places; the message is that of the loader.
    """
    try:
        ctypes.CDLL(LIBRARY)
    except OSError as error:
        for directory in PLACES:
            with suppress(OSError):
                ctypes.CDLL(f"{directory}/{LIBRARY}")
                return
        raise NoLibraryError(str(error)) from error


_session: Shared[Any] = Shared(_start)
