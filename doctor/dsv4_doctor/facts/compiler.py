"""Host compilers, and the one that nvcc uses."""

from __future__ import annotations

from dsv4_doctor.lazy_dataclass import dataclass


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
