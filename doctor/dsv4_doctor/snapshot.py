"""The facts of one machine: plain frozen data, JSON on disk, no judgement.

Every section is ``None`` when its probe was not run or failed; ``Snapshot.probes`` says which,
why, and how long it took. Inside a section ``None`` or an empty tuple means "looked, not there".
Sizes are bytes unless the name says otherwise; versions are the text that was read.
"""

from __future__ import annotations

from dataclasses import dataclass, field

SCHEMA = "dsv4-doctor/snapshot/1"


@dataclass(frozen=True)
class ProbeRun:
    """How one probe ended.

    Attributes:
        name: The probe, which is also the name of the section that it fills.
        seconds: Wall time that it took.
        error: Why it gave no facts, or ``None``.
    """

    name: str
    seconds: float
    error: str | None = None


@dataclass(frozen=True)
class Host:
    """Operating system, processor and limits.

    Attributes:
        machine: As ``uname -m``: ``x86_64``, ``aarch64``.
        distribution: Identifier from os-release, such as ``ubuntu``.
        distribution_version: Such as ``24.04``.
        glibc: Version of the C library, or ``None`` when it is not glibc.
        cpus: Processors that this process may use.
        memory: Total memory.
        memory_available: What could be taken now without swapping.
        container: The container runtime's name when this is a container.
        root: Whether the doctor ran as root, which decides how remedies are written.
    """

    hostname: str
    kernel: str
    machine: str
    distribution: str
    distribution_version: str
    glibc: str | None
    cpus: int
    memory: int | None
    memory_available: int | None
    container: str | None
    root: bool = False


@dataclass(frozen=True)
class Driver:
    """The NVIDIA kernel driver as its own interfaces describe it.

    Attributes:
        kernel_module: Version in ``/proc/driver/nvidia/version``, ``None`` when not loaded.
        flavour: ``open`` or ``proprietary`` kernel module.
        nvml: Version that NVML reports.
        cuda: Newest CUDA version of the driver, such as ``13.0``.
        nvml_error: Why NVML gave nothing: its own text.
        parameters: Selected module parameters.
    """

    kernel_module: str | None
    flavour: str | None
    nvml: str | None
    cuda: str | None
    nvml_error: str | None
    parameters: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Gpu:
    """One GPU as NVML sees it; ``None`` is what NVML would not say.

    Attributes:
        compute_capability: Such as ``9.0``.
        memory: Frame buffer.
        bar1: Size of the BAR1 aperture.
        pci: Domain, bus, device and function, lower case, four-digit domain: ``0000:17:00.0``.
    """

    index: int
    name: str
    pci: str | None
    compute_capability: str | None
    memory: int | None
    bar1: int | None
    mig: bool | None = None


@dataclass(frozen=True)
class PciRegion:
    """One base address register of a PCI function, from sysfs ``resource``.

    Attributes:
        index: 0 to 5.
        start: Physical address; 0 means that nothing was assigned.
        size: 0 for an unused register.
    """

    index: int
    start: int
    size: int
    prefetchable: bool
    wide: bool


@dataclass(frozen=True)
class PciGpu:
    """One NVIDIA display or 3D controller as sysfs shows it, readable without root.

    Attributes:
        resizable_sizes: Sizes that ``resourceN_resize`` offers for the aperture, when the
            attribute exists; an absent attribute says nothing about the present size.
        driver: Kernel driver that is bound, or ``None``.
    """

    pci: str
    device_id: str
    regions: tuple[PciRegion, ...]
    driver: str | None
    numa_node: int | None = None
    link_speed: str | None = None
    link_speed_max: str | None = None
    link_width: int | None = None
    link_width_max: int | None = None
    resizable_sizes: tuple[int, ...] | None = None

    @property
    def aperture(self) -> PciRegion | None:
        """The region behind BAR1: the largest 64-bit prefetchable one, whatever its index."""
        candidates = [region for region in self.regions if region.prefetchable and region.wide]
        return max(candidates, key=lambda region: region.size, default=None)


@dataclass(frozen=True)
class HostCompilerLimits:
    """What ``crt/host_config.h`` of a toolkit accepts.

    Attributes:
        gcc_max: Newest major version of gcc.
        clang_below: First major version of clang that is refused.
        path: The header.
        line: Line of the gcc check.
    """

    gcc_max: int | None
    clang_below: int | None
    path: str
    line: int | None


@dataclass(frozen=True)
class Toolkit:
    """One CUDA toolkit on disk, read from its own files.

    Attributes:
        root: Its real path: no symbolic links, wrapper scripts seen through.
        origins: How it was found: ``CUDA_HOME``, ``PATH``, ``/usr/local/cuda``, ``pip``, ….
        nvcc: Path of the compiler, or ``None`` when the tree has none.
        nvcc_version: Build of nvcc, such as ``13.0.88``.
        nvcc_error: Why nvcc could not be asked.
        header_version: ``CUDA_VERSION`` of ``cuda.h`` as ``major.minor``.
        manifest_version: ``cuda`` in ``version.json``.
        host_compiler: The compiler limits in its own header.
        archs: Architectures that its nvcc compiles for, from ``nvcc --help``, such as ``sm_90a``.
        missing: Files that a build needs and that are not there, relative to ``root``.
    """

    root: str
    origins: tuple[str, ...]
    nvcc: str | None
    nvcc_version: str | None
    nvcc_error: str | None
    header_version: str | None
    manifest_version: str | None
    host_compiler: HostCompilerLimits | None
    archs: tuple[str, ...]
    missing: tuple[str, ...] = ()

    @property
    def release(self) -> str | None:
        """``major.minor`` of the compiler, else of its headers or its manifest."""
        for text in (self.nvcc_version, self.header_version, self.manifest_version):
            if text:
                return ".".join(text.split(".")[:2])
        return None


@dataclass(frozen=True)
class PathChain:
    """A path and what its symbolic links lead to, link by link.

    Attributes:
        value: The path as given.
        hops: Every target in turn, the last one real; empty when ``value`` is no link at all.
        exists: Whether the end of the chain exists.
    """

    value: str
    hops: tuple[str, ...]
    exists: bool

    @property
    def real(self) -> str:
        """The end of the chain."""
        return self.hops[-1] if self.hops else self.value


@dataclass(frozen=True)
class Picks:
    """Which toolkit each consumer would take here; real roots, ``None`` for none.

    Attributes:
        path: The one whose nvcc is first on PATH.
        torch: By the rule of ``torch.utils.cpp_extension``.
        cmake: By the rule of CMake's FindCUDA.
    """

    path: str | None
    torch: str | None
    cmake: str | None


@dataclass(frozen=True)
class Toolkits:
    """All CUDA toolkits of the machine.

    Attributes:
        cuda_home: The variable with its chain of links, or ``None`` when it is not set.
        found: Every distinct toolkit.
    """

    cuda_home: PathChain | None
    found: tuple[Toolkit, ...]
    picks: Picks


@dataclass(frozen=True)
class Compiler:
    """One host compiler.

    Attributes:
        path: As found on PATH.
        kind: ``gcc``, ``g++``, ``clang`` or ``clang++``.
        version: Full version, such as ``12.2.0``.
    """

    path: str
    kind: str
    version: str


@dataclass(frozen=True)
class HostCompilers:
    """The host compilers and the one that nvcc uses.

    Attributes:
        found: Every compiler on PATH, versioned names too, in order of PATH.
        used: The one nvcc really calls; ``None`` when there is none or nvcc is absent.
        used_because: What decided it: ``NVCC_CCBIN``, ``CUDAHOSTCXX``, ``PATH``, ….
        error: Why the used one could not be established.
    """

    found: tuple[Compiler, ...]
    used: Compiler | None
    used_because: str | None
    error: str | None = None


@dataclass(frozen=True)
class Distribution:
    """One installed Python distribution."""

    name: str
    version: str
    location: str


@dataclass(frozen=True)
class TorchBuild:
    """What torch's own files say of its build, without importing it.

    Attributes:
        version: From ``torch/version.py``, with the local tag when it has one.
        cuda: CUDA version that it was built with, ``None`` for a CPU-only build.
        hip: ROCm version that it was built with.
        path: The file that was read.
    """

    version: str
    cuda: str | None
    hip: str | None
    path: str


@dataclass(frozen=True)
class DeviceCode:
    """Device code inside one installed shared object.

    Attributes:
        path: The file.
        owner: Distribution that it belongs to.
        sass: Architectures with machine code, such as ``sm_90a``.
        ptx: Architectures with PTX, such as ``compute_80``.
        families: Kernel families proved from kernel names inside its cubins; empty when the
            names were not read.
        error: Why it could not be read.
    """

    path: str
    owner: str
    sass: tuple[str, ...]
    ptx: tuple[str, ...]
    families: tuple[str, ...] = ()
    error: str | None = None


@dataclass(frozen=True)
class PythonEnvironment:
    """One Python environment, read from its files.

    Attributes:
        executable: Its interpreter.
        chosen_by: Why this environment: ``--python``, ``VIRTUAL_ENV``, ``own``, ….
        version: Such as ``3.12.3``.
        headers: Directory of ``Python.h``, or ``None`` when the header is not there.
        headers_expected: Directory where it should be.
        distributions: The distributions that matter for vLLM.
        torch: torch's build, ``None`` when torch is not installed.
        binaries: Device code of the installed extension modules that matter.
    """

    executable: str
    chosen_by: str
    version: str
    prefix: str
    headers: str | None
    headers_expected: str
    distributions: tuple[Distribution, ...]
    torch: TorchBuild | None
    binaries: tuple[DeviceCode, ...] = ()

    def distribution(self, name: str) -> Distribution | None:
        """Return the distribution of this normalised name (``flash-attn``), if installed."""
        return next((dist for dist in self.distributions if dist.name == name), None)


@dataclass(frozen=True)
class BuildTool:
    """One program that a build calls.

    Attributes:
        path: Where it is, ``None`` when it was not found.
        version: What it says of itself, ``None`` when it could not be asked.
    """

    name: str
    path: str | None
    version: str | None


@dataclass(frozen=True)
class Snapshot:
    """All facts of one machine at one moment.

    Attributes:
        taken_at: ISO 8601, UTC.
        environment: The environment variables that matter, as they are set.
    """

    taken_at: str
    tool_version: str
    probes: tuple[ProbeRun, ...]
    host: Host | None = None
    driver: Driver | None = None
    gpus: tuple[Gpu, ...] | None = None
    pci: tuple[PciGpu, ...] | None = None
    toolkits: Toolkits | None = None
    compilers: HostCompilers | None = None
    python: PythonEnvironment | None = None
    build_tools: tuple[BuildTool, ...] | None = None
    environment: dict[str, str] | None = None
    schema: str = SCHEMA

    def probe(self, name: str) -> ProbeRun | None:
        """Return how the probe of this name ended, ``None`` when it was not run."""
        return next((run for run in self.probes if run.name == name), None)
