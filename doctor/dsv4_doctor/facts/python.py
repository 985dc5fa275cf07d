"""A Python environment, read from its files."""

from __future__ import annotations

from dsv4_doctor.lazy_dataclass import dataclass, field


@dataclass(frozen=True)
class Distribution:
    """One installed Python distribution.

    Attributes:
        requires: What its metadata asks of packages that matter, as written there; read only of
            those packages that are tied to one version of another.
        origin: Address that it was installed from, ``None`` for an index.
    """

    name: str
    version: str
    location: str
    requires: tuple[str, ...] = ()
    origin: str | None = None


@dataclass(frozen=True)
class TorchBuild:
    """What torch's own files say of its build, without importing it.

    Attributes:
        version: From ``torch/version.py``, with the local tag when it has one.
        cuda: CUDA version that it was built with, ``None`` for a CPU-only build.
        hip: ROCm version that it was built with.
        path: The file that was read.
        archs: What ``torch.cuda.get_arch_list()`` would say, such as ``sm_90``; empty when the
            list was not found in its library.
        cxx11_abi: Whether its functions take the strings of C++11's ABI, ``None`` when not read.
    """

    version: str
    cuda: str | None
    hip: str | None
    path: str
    archs: tuple[str, ...] = ()
    cxx11_abi: bool | None = None


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
        cuda: Major versions of CUDA whose libraries it needs by ``DT_NEEDED``.
        glibc: Newest version of glibc that it asks for.
        glibcxx: Newest ``GLIBCXX`` version of libstdc++ that it asks for.
        cxxabi: Likewise ``CXXABI``.
    """

    path: str
    owner: str
    sass: tuple[str, ...]
    ptx: tuple[str, ...]
    families: tuple[str, ...] = ()
    error: str | None = None
    cuda: tuple[int, ...] = ()
    glibc: str | None = None
    glibcxx: str | None = None
    cxxabi: str | None = None


@dataclass(frozen=True)
class Ptxas:
    """One assembler that Triton runs.

    Attributes:
        path: Where it is.
        chosen_by: The variable that names it, or ``triton`` for the one in its wheel.
        blackwell: Whether Triton takes it for architectures from ``sm_100`` on.
        archs: Architectures that it assembles for, such as ``sm_90a``.
        error: Why it gave no answer.
    """

    path: str
    chosen_by: str
    blackwell: bool
    archs: tuple[str, ...]
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
        virtual: Whether it is a virtual environment, so that nothing of the system is in it.
        other_torches: Further copies of torch on ``sys.path``, behind the one that is imported.
        ptxas: The assemblers of the installed triton; ``None`` in a snapshot that was made
            without looking.
        libcuda: Directories in which Triton lets its linker look for ``libcuda.so.1``; ``None``
            when not looked for.
        libcuda_elsewhere: Further directories with it, where container runtimes put it.
        libstdcxx: The ``libstdc++.so.6`` that this interpreter loads, as far as the order of
            search tells.
        glibcxx: Newest ``GLIBCXX`` version that it has.
        cxxabi: Newest ``CXXABI`` version that it has.
        shadowed: Libraries that a directory of ``LD_LIBRARY_PATH`` and the CUDA libraries of pip
            both have, by name: the file in that directory.
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
    virtual: bool = False
    other_torches: tuple[TorchBuild, ...] = ()
    ptxas: tuple[Ptxas, ...] | None = None
    libcuda: tuple[str, ...] | None = None
    libcuda_elsewhere: tuple[str, ...] = ()
    libstdcxx: str | None = None
    glibcxx: str | None = None
    cxxabi: str | None = None
    shadowed: dict[str, str] = field(default_factory=dict)
    binaries: tuple[DeviceCode, ...] = ()

    def distribution(self, name: str) -> Distribution | None:
        """Return the distribution of this normalised name (``flash-attn``), if installed."""
        return next((dist for dist in self.distributions if dist.name == name), None)

    def distributions_of(self, name: str) -> tuple[Distribution, ...]:
        """Return all distributions of this name: more than one is what a broken update leaves."""
        return tuple(dist for dist in self.distributions if dist.name == name)
