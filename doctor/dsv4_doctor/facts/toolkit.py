"""CUDA toolkits on disk, and who would pick which."""

from __future__ import annotations

from dsv4_doctor.lazy_dataclass import dataclass, field


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
        runtime_version: ``CUDART_VERSION`` of ``cuda_runtime_api.h`` as ``major.minor``: what nvcc
            of another release refuses to compile with.
        cccl_version: ``CCCL_VERSION``, such as ``3.0.1``.
        missing_jit: Files that kernels compiled in a running server need and that are not there.
        math_libraries: Directory beside the toolkit that holds the headers of the CUDA math
            libraries, as NVIDIA's HPC SDK has it.
        stub_exports: Whether ``stubs/libcuda.so`` defines the driver's functions, ``None`` when
            there is no stub.
        math_clashes: Functions that ``crt/math_functions.h`` declares without an exception
            specification, of those that newer glibc declares with one, such as ``cospi``.
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
    runtime_version: str | None = None
    cccl_version: str | None = None
    missing_jit: tuple[str, ...] = ()
    math_libraries: str | None = None
    stub_exports: bool | None = None
    math_clashes: tuple[str, ...] = ()

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
        runtime: Likewise those that compile kernels in a running server: ``flashinfer``,
            ``deep-gemm``, ``tilelang``; without those that would find none.
    """

    path: str | None
    torch: str | None
    cmake: str | None
    runtime: dict[str, str] = field(default_factory=dict)


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
