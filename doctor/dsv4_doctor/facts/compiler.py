"""Host compilers, and the one that nvcc uses."""

from __future__ import annotations

from dsv4_doctor.lazy_dataclass import dataclass, field


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
        cxx: The compiler of the C++ files of a build, which CMake chooses; ``None`` for none.
        cxx_because: What decided it: ``CXX``, ``CMAKE_ARGS``, ``PATH``.
        absent: Variables that name a compiler which is not there, with what they name.
        cc1plus: Path of gcc's C++ compiler proper, empty when gcc has none, ``None`` when gcc was
            not asked.
        system_headers: Headers of system packages that a build includes and that are there, such
            as ``numa.h``; ``None`` when not looked for.
        libc_math: Functions that glibc's own header declares and that older CUDA headers declare
            in another way, such as ``cospi``; ``None`` when that header was not there to read.
    """

    found: tuple[Compiler, ...]
    used: Compiler | None
    used_because: str | None
    error: str | None = None
    cxx: Compiler | None = None
    cxx_because: str | None = None
    absent: dict[str, str] = field(default_factory=dict)
    cc1plus: str | None = None
    system_headers: tuple[str, ...] | None = None
    libc_math: tuple[str, ...] | None = None
