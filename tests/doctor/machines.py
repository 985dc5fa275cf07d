"""Snapshots of machines for tests: one healthy, from which a test makes what it needs.

The healthy one has the facts of a real guest with two H200, read there in November 2026.
"""

from __future__ import annotations

from dataclasses import replace

from dsv4_doctor.facts.build_tools import BuildTool
from dsv4_doctor.facts.build_tree import BuildTree
from dsv4_doctor.facts.compiler import Compiler, HostCompilers
from dsv4_doctor.facts.containers import Containers
from dsv4_doctor.facts.driver import CudaLibrary, CudaStart, Driver
from dsv4_doctor.facts.gpu import Gpu
from dsv4_doctor.facts.host import Host
from dsv4_doctor.facts.pci import PciGpu, PciRegion
from dsv4_doctor.facts.python import Distribution, Ptxas, PythonEnvironment, TorchBuild
from dsv4_doctor.facts.resources import UNLIMITED, Disk, Place, Resources
from dsv4_doctor.facts.toolkit import HostCompilerLimits, PathChain, Picks, Toolkit, Toolkits
from dsv4_doctor.facts.topology import Peer, Topology
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
    "build_tree",
    "driver",
    "gpus",
    "pci",
    "host",
    "environment",
    "topology",
    "resources",
    "containers",
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
        runtime_version=release,
        cccl_version="3.0.1",
        stub_exports=True,
        # As in the headers of CUDA 13.0.88; glibc 2.39 declares neither.
        math_clashes=("rsqrt", "rsqrtf"),
    )


def picks(root: str | None = ROOT) -> Picks:
    """Return the picks where every consumer takes one toolkit."""
    names = ("flashinfer", "deep-gemm", "tilelang")
    return Picks(root, root, root, dict.fromkeys(names, root) if root is not None else {})


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


def gpu(
    index: int = 0, capability: str = "9.0", name: str = "NVIDIA H200", **changes: object
) -> Gpu:
    """Return one GPU as NVML shows it."""
    made = Gpu(
        index,
        name,
        f"0000:00:0{6 + index}.0",
        capability,
        143771 * MIB,
        262144 * MIB,
        mig=False,
        uuid=f"GPU-00000000-0000-0000-0000-00000000000{1 + index}",
        brand="NVIDIA",
        memory_used=0,
        persistence=True,
        compute_mode="Default",
        performance_state=0,
        utilization=0,
        power_limit=700.0,
        power_limit_default=700.0,
        throttle=(),
        ecc=True,
        ecc_uncorrected=0,
        remapped_rows=0,
        remap_pending=False,
        remap_failed=False,
        recovery_action="None",
        display=False,
        nvlinks=(True,) * 18,
        fabric_state="Completed",
        fabric_status=0,
        fabric_cluster="00000000-0000-0000-0000-000000000000",
        link_generation=5,
        link_generation_max=5,
        link_width=16,
        link_width_max=16,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


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


def driver(**changes: object) -> Driver:
    """Return the driver of the healthy machine."""
    version = "580.159.04"
    directory = "/usr/local/nvidia/lib64"
    library = CudaLibrary(
        f"{directory}/libcuda.so.1",
        f"{directory}/libcuda.so.{version}",
        version,
        "ld.so.cache",
        95 * MIB,
    )
    nodes = ("nvidia-uvm", "nvidia0", "nvidia1", "nvidiactl")
    made = Driver(
        version,
        "open",
        version,
        "13.0",
        None,
        {"EnableResizableBar": "0"},
        nvml_library=version,
        libcuda=(library,),
        libcuda_link=f"{directory}/libcuda.so",
        start=CudaStart(0, 2),
        modules=("nvidia", "nvidia_uvm"),
        device_nodes={f"/dev/{name}": True for name in nodes},
        xids=(),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def place(role: str, path: str, **changes: object) -> Place:
    """Return one place on the only disk of the healthy machine."""
    made = Place(
        role,
        path,
        mount="/",
        filesystem="ext4",
        size=256 << 30,
        free=128 << 30,
        disk=Disk("vda", "virtual"),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def resources(*places: Place, **changes: object) -> Resources:
    """Return the resources of the healthy machine; places take that of the same role."""
    home = "/root/.cache"
    shm = place(
        "shared memory",
        "/dev/shm",
        mount="/dev/shm",
        filesystem="tmpfs",
        size=256 << 30,
        free=256 << 30,
        disk=Disk("", "memory"),
    )
    known = (
        place("build", "/src/vllm"),
        place("temporary", "/tmp"),
        shm,
        place("model", f"{home}/huggingface/hub"),
        place("cache of vLLM", f"{home}/vllm"),
        place("cache of Triton", "/root/.triton/cache"),
        place("cache of FlashInfer", f"{home}/flashinfer"),
        place("cache of DeepGEMM", f"{home}/vllm/deep_gemm"),
    )
    given = {each.role: each for each in places}
    made = Resources(
        swap=0,
        nofile_soft=20000,
        memlock_soft=UNLIMITED,
        memlock_hard=UNLIMITED,
        places=tuple(given.get(each.role, each) for each in known),
        package_indexes={},
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def ptxas(*more: str, blackwell: bool = False) -> Ptxas:
    """Return an assembler of triton 3.6.0, which is of CUDA 12.8 or, for Blackwell, 12.9."""
    archs = ("sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a")
    newer = ("sm_103", "sm_103a", "sm_120", "sm_120a", "sm_121", "sm_121a") if blackwell else ()
    name = "ptxas-blackwell" if blackwell else "ptxas"
    path = f"{SITE}/triton/backends/nvidia/bin/{name}"
    return Ptxas(path, "triton", blackwell, (*archs, *newer, *more))


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
            Distribution("jinja2", "3.1.6", SITE),
            Distribution("nvidia-cuda-nvrtc", "13.0.88", SITE),
            Distribution("nvidia-cuda-runtime", "13.0.96", SITE),
            Distribution("nvidia-nccl-cu13", "2.28.9", SITE),
            Distribution("nvidia-nvjitlink", "13.0.88", SITE),
            Distribution("packaging", "26.3", SITE),
            # The captured machine has 81.0.0, which is too new for a build without isolation.
            Distribution("setuptools", "80.9.0", SITE),
            Distribution("setuptools-rust", "1.13.0", SITE),
            Distribution("setuptools-scm", "10.3.4", SITE),
            Distribution("torch", "2.11.0", SITE, ("nvidia-nccl-cu13==2.28.9", "triton==3.6.0")),
            Distribution("triton", "3.6.0", SITE),
            Distribution("wheel", "0.48.0", SITE),
        ),
        torch=TorchBuild(
            "2.11.0+cu130",
            "13.0",
            None,
            f"{SITE}/torch/version.py",
            ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"),
            cxx11_abi=True,
        ),
        ptxas=(ptxas(), ptxas(blackwell=True)),
        libcuda=("/usr/local/nvidia/lib64", "/lib"),
        libstdcxx="/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
        glibcxx="3.4.33",
        cxxabi="1.3.15",
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def with_packages(*packages: Distribution, **changes: object) -> PythonEnvironment:
    """Return the environment with packages added, in the place of those of their names."""
    names = {each.name for each in packages}
    kept = [each for each in python_environment().distributions if each.name not in names]
    found = sorted([*kept, *packages], key=lambda each: each.name)
    return python_environment(**{"distributions": tuple(found), **changes})


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
        driver=driver(),
        gpus=(gpu(0), gpu(1)),
        pci=(pci(0), pci(1)),
        toolkits=Toolkits(
            PathChain(link, ("/etc/alternatives/cuda", ROOT), exists=True),
            (toolkit(),),
            picks(),
        ),
        compilers=HostCompilers(
            (compiler("13.3.0"), compiler("13.3.0", "/usr/bin/gcc", "gcc")),
            compiler("13.3.0"),
            "PATH",
            cxx=compiler("13.3.0", "/usr/bin/c++"),
            cxx_because="PATH",
            cc1plus="/usr/libexec/gcc/x86_64-linux-gnu/13/cc1plus",
            system_headers=("numa.h",),
            libc_math=(),
        ),
        python=python_environment(),
        build_tools=(
            BuildTool("cmake", f"{PREFIX}/bin/cmake", "4.1.0"),
            BuildTool("ninja", f"{PREFIX}/bin/ninja", "1.13.0"),
            BuildTool("git", "/usr/bin/git", "2.43.0"),
            BuildTool("cargo", "/root/.cargo/bin/cargo", None),
        ),
        build_tree=BuildTree("/root", vllm=False, sdist=False, work_tree=None),
        environment={"CUDA_HOME": link},
        topology=Topology((Peer(0, 1, None, "OK"),), virtual=True),
        resources=resources(),
        containers=Containers(),
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
        topology=Topology(),
    )
    return replace(machine, **changes)  # type: ignore[arg-type]


def failed(snapshot: Snapshot, section: str, error: str, seconds: float = 5.0) -> Snapshot:
    """Return the snapshot as it is when one probe did not answer."""
    probes = tuple(
        ProbeRun(run.name, seconds, error) if run.name == section else run
        for run in snapshot.probes
    )
    return replace(snapshot, probes=probes, **{section: None})  # type: ignore[arg-type]
