"""Fakes that the tests of several probes share: programs, a CUDA toolkit on disk, NVML."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NOT_SUPPORTED = 3
NO_PERMISSION = 4
GPU_IS_LOST = 15
GIB = 1 << 30


def program(path: Path, body: str) -> Path:
    """Write an executable shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def fake_nvcc(root: Path, *, version: str = "12.4.131", host: str = "gcc") -> Path:
    """Write an nvcc that answers as the real one does, for its own directory."""
    release = version.rpartition(".")[0]
    return program(
        root / "bin/nvcc",
        f"""
case "$1" in
--version) echo "Cuda compilation tools, release {release}, V{version}" ;;
--help) echo "Allowed values for this option:  'compute_90','sm_80','sm_90','sm_90a'." ;;
--dryrun)
    echo '#$ _HERE_={root}/bin' >&2
    echo "#$ PATH={root}/bin:$PATH" >&2
    echo '#$ {host} -D__CUDA_ARCH__=520 -E -x c++ -D__CUDACC__ "/dev/null"' >&2 ;;
*) exit 1 ;;
esac""",
    )


def fake_toolkit(root: Path, *, version: str = "12.4.131", code: int = 12040) -> Path:
    """Write the files of a toolkit that the probe reads."""
    fake_nvcc(root, version=version)
    (root / "include/crt").mkdir(parents=True)
    (root / "include/cuda.h").write_text(f"#define CUDA_VERSION {code}\n")
    (root / "include/crt/host_config.h").write_text("#if __GNUC__ > 13\n")
    return root


class Function:
    """An exported function: pynvml sets ``restype`` on what it gets from the library."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self.call = call
        self.restype: Any = ctypes.c_int

    def __call__(self, *args: Any) -> Any:
        return self.call(*args)


@dataclass
class FakeGpu:
    """What NVML says of one GPU; ``codes`` holds a return code for a function that fails."""

    name: bytes = b"NVIDIA H200"
    bus_id: bytes = b"00000000:17:00.0"
    capability: tuple[int, int] = (9, 0)
    memory: int = 140 * GIB
    bar1: int = 256 * GIB
    mig: int = 0
    codes: dict[str, int] = field(default_factory=dict)
    # By function: the numbers that it writes to where its last arguments point.
    answers: dict[str, tuple[int, ...]] = field(default_factory=dict)
    fields: dict[int, int] = field(default_factory=dict)
    links: tuple[int, ...] = ()
    fabric: dict[str, int] | None = None


class FakeNvml:
    """A stand-in for ``libnvidia-ml.so.1``; a function that it lacks is a missing symbol."""

    def __init__(self, *gpus: FakeGpu, start: int = 0, cuda: int = 13000) -> None:
        self.gpus = gpus
        self.start = start
        self.cuda = cuda
        self.starts = 0
        self.functions: dict[str, Callable[..., int]] = {
            "nvmlInitWithFlags": self.initialise,
            "nvmlSystemGetDriverVersion": self.driver_version,
            "nvmlSystemGetCudaDriverVersion_v2": self.cuda_version,
            "nvmlDeviceGetCount_v2": self.count,
            "nvmlDeviceGetHandleByIndex_v2": self.handle,
            "nvmlDeviceGetName": self.name,
            "nvmlDeviceGetPciInfo_v3": self.pci,
            "nvmlDeviceGetCudaComputeCapability": self.capability,
            "nvmlDeviceGetMemoryInfo": self.memory,
            "nvmlDeviceGetBAR1MemoryInfo": self.bar1,
            "nvmlDeviceGetMigMode": self.mig,
            "nvmlDeviceGetFieldValues": self.field_values,
            "nvmlDeviceGetNvLinkState": self.link_state,
            "nvmlDeviceGetGpuFabricInfoV": self.fabric,
        }

    def __getattr__(self, name: str) -> Function:
        if name in self.functions:
            return Function(self.functions[name])
        if any(name in each.answers for each in self.gpus):
            return Function(lambda handle, *rest: self.answer(name, handle, rest))
        raise AttributeError(name)

    def answer(self, name: str, handle: Any, rest: tuple[Any, ...]) -> int:
        values = self.of(handle).answers.get(name)
        if values is None:
            return NOT_SUPPORTED
        for place, value in zip(rest[-len(values) :], values, strict=True):
            place._obj.value = value
        return 0

    def field_values(self, handle: Any, count: Any, values: Any) -> int:
        known = self.of(handle).fields
        for index in range(count.value):
            each = values._obj[index]
            each.nvmlReturn = 0 if each.fieldId in known else NOT_SUPPORTED
            each.value.uiVal = known.get(each.fieldId, 0)
        return 0

    def link_state(self, handle: Any, link: int, state: Any) -> int:
        state._obj.value = self.of(handle).links[link]
        return 0

    def fabric(self, handle: Any, info: Any) -> int:
        told = self.of(handle).fabric
        if told is None:
            return NOT_SUPPORTED
        for name, value in told.items():
            setattr(info._obj, name, value)
        return 0

    def initialise(self, _flags: Any) -> int:
        self.starts += 1
        return self.start

    def driver_version(self, text: Any, _size: Any) -> int:
        text.value = b"580.159.04"
        return 0

    def cuda_version(self, number: Any) -> int:
        number._obj.value = self.cuda
        return 0

    def count(self, number: Any) -> int:
        number._obj.value = len(self.gpus)
        return 0

    def handle(self, index: Any, handle: Any) -> int:
        # A pointer that nobody follows; its address is the index plus one.
        address: int = index.value + 1
        ctypes.cast(handle, ctypes.POINTER(ctypes.c_void_p))[0] = ctypes.c_void_p(address)
        return self.gpus[address - 1].codes.get("handle", 0)

    def of(self, handle: Any) -> FakeGpu:
        return self.gpus[(ctypes.cast(handle, ctypes.c_void_p).value or 0) - 1]

    def name(self, handle: Any, text: Any, _size: Any) -> int:
        text.value = self.of(handle).name
        return self.of(handle).codes.get("name", 0)

    def pci(self, handle: Any, info: Any) -> int:
        info._obj.busId = self.of(handle).bus_id.decode()
        return self.of(handle).codes.get("pci", 0)

    def capability(self, handle: Any, major: Any, minor: Any) -> int:
        major._obj.value, minor._obj.value = self.of(handle).capability
        return self.of(handle).codes.get("capability", 0)

    def memory(self, handle: Any, info: Any) -> int:
        info._obj.total = self.of(handle).memory
        return self.of(handle).codes.get("memory", 0)

    def bar1(self, handle: Any, info: Any) -> int:
        info._obj.bar1Total = self.of(handle).bar1
        return self.of(handle).codes.get("bar1", 0)

    def mig(self, handle: Any, current: Any, _pending: Any) -> int:
        current._obj.value = self.of(handle).mig
        return self.of(handle).codes.get("mig", 0)
