"""Snapshots of machines for tests: one healthy, from which a test makes what it needs.

The healthy one has the facts of a real guest with two H200, read there in November 2026.
"""

from __future__ import annotations

from dataclasses import replace

from dsv4_doctor.facts.build_tools import BuildTool
from dsv4_doctor.facts.compiler import Compiler, HostCompilers
from dsv4_doctor.facts.driver import Driver
from dsv4_doctor.facts.gpu import Gpu
from dsv4_doctor.facts.host import Host
from dsv4_doctor.facts.pci import PciGpu, PciRegion
from dsv4_doctor.facts.python import Distribution, PythonEnvironment, TorchBuild
from dsv4_doctor.facts.toolkit import HostCompilerLimits, PathChain, Picks, Toolkit, Toolkits
from dsv4_doctor.snapshot import ProbeRun, Snapshot

MIB = 1 << 20
ROOT = "/usr/local/cuda-13.0"
PREFIX = "/opt/torch/.venv"
SITE = f"{PREFIX}/lib/python3.12/site-packages"
SECTIONS = (
    "toolkits",
    "python",
    "compilers",
    "build_tools",
    "driver",
    "gpus",
    "pci",
    "host",
    "environment",
)


def toolkit(release: str = "13.0", root: str = ROOT, *, gcc_max: int = 15) -> Toolkit:
    """Return a complete toolkit of one release."""
    return Toolkit(
        root=root,
        origins=("CUDA_HOME", "PATH", "/usr/local/cuda"),
        nvcc=f"{root}/bin/nvcc",
        nvcc_version=f"{release}.88",
        nvcc_error=None,
        header_version=release,
        manifest_version=f"{release}.2",
        host_compiler=HostCompilerLimits(gcc_max, 21, f"{root}/include/crt/host_config.h", 143),
        archs=("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_120"),
    )


def compiler(version: str, path: str = "/usr/bin/g++", kind: str = "g++") -> Compiler:
    """Return one host compiler."""
    return Compiler(path, kind, version)


def regions(bar1: int = 262144 * MIB, start: int = 0x100000000000) -> tuple[PciRegion, ...]:
    """Return the regions of an H200, where BAR1 is PCI region 2."""
    return (
        PciRegion(0, 0x104002000000, 16 * MIB, prefetchable=True, wide=True),
        PciRegion(1, 0, 0, prefetchable=False, wide=False),
        PciRegion(2, start, bar1, prefetchable=True, wide=True),
        PciRegion(3, 0, 0, prefetchable=False, wide=False),
        PciRegion(4, 0x104000000000, 32 * MIB, prefetchable=True, wide=True),
        PciRegion(5, 0, 0, prefetchable=False, wide=False),
    )


def gpu(index: int = 0, capability: str = "9.0", name: str = "NVIDIA H200") -> Gpu:
    """Return one GPU as NVML shows it."""
    return Gpu(
        index, name, f"0000:00:0{6 + index}.0", capability, 143771 * MIB, 262144 * MIB, mig=False
    )


def pci(index: int = 0, **changes: object) -> PciGpu:
    """Return one GPU as sysfs shows it."""
    made = PciGpu(
        pci=f"0000:00:0{6 + index}.0",
        device_id="0x2335",
        regions=regions(),
        driver="nvidia",
        numa_node=-1,
        link_speed="32.0 GT/s PCIe",
        link_speed_max="32.0 GT/s PCIe",
        link_width=16,
        link_width_max=16,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def python_environment(**changes: object) -> PythonEnvironment:
    """Return an environment with torch 2.11.0+cu130 and without vLLM."""
    made = PythonEnvironment(
        executable=f"{PREFIX}/bin/python",
        chosen_by="--python",
        version="3.12.3",
        prefix=PREFIX,
        headers="/usr/include/python3.12",
        headers_expected="/usr/include/python3.12",
        distributions=(
            Distribution("torch", "2.11.0", SITE),
            Distribution("triton", "3.6.0", SITE),
        ),
        torch=TorchBuild("2.11.0+cu130", "13.0", None, f"{SITE}/torch/version.py"),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def healthy(**changes: object) -> Snapshot:
    """Return the healthy machine, with sections replaced by keyword."""
    link = "/usr/local/cuda"
    made = Snapshot(
        taken_at="2026-11-29T12:00:00+00:00",
        tool_version="0.0",
        probes=tuple(ProbeRun(name, 0.01) for name in SECTIONS),
        host=Host(
            "h200", "6.18.44", "x86_64", "ubuntu", "24.04", "2.39", 32, 251 << 30, 240 << 30, None
        ),
        driver=Driver(
            "580.159.04", "open", "580.159.04", "13.0", None, {"EnableResizableBar": "0"}
        ),
        gpus=(gpu(0), gpu(1)),
        pci=(pci(0), pci(1)),
        toolkits=Toolkits(
            PathChain(link, ("/etc/alternatives/cuda", ROOT), exists=True),
            (toolkit(),),
            Picks(ROOT, ROOT, ROOT),
        ),
        compilers=HostCompilers(
            (compiler("13.3.0"), compiler("13.3.0", "/usr/bin/gcc", "gcc")),
            compiler("13.3.0"),
            "PATH",
        ),
        python=python_environment(),
        build_tools=(
            BuildTool("cmake", f"{PREFIX}/bin/cmake", "4.1.0"),
            BuildTool("ninja", f"{PREFIX}/bin/ninja", "1.13.0"),
            BuildTool("git", "/usr/bin/git", "2.43.0"),
        ),
        environment={"CUDA_HOME": link},
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def bare(**changes: object) -> Snapshot:
    """Return a fresh machine: a C++ compiler and Python, nothing of NVIDIA's."""
    machine = healthy(
        driver=Driver(None, None, None, None, "NVML Shared Library Not Found"),
        gpus=(),
        pci=(),
        toolkits=Toolkits(None, (), Picks(None, None, None)),
        compilers=HostCompilers((compiler("12.2.0"),), compiler("12.2.0"), "PATH (no nvcc to ask)"),
        python=python_environment(distributions=(), torch=None),
        environment={},
    )
    return replace(machine, **changes)  # type: ignore[arg-type]


def failed(snapshot: Snapshot, section: str, error: str, seconds: float = 5.0) -> Snapshot:
    """Return the snapshot as it is when one probe did not answer."""
    probes = tuple(
        ProbeRun(run.name, seconds, error) if run.name == section else run
        for run in snapshot.probes
    )
    return replace(snapshot, probes=probes, **{section: None})  # type: ignore[arg-type]
