"""A Python environment, read from its files."""

from __future__ import annotations

from dsv4_doctor.lazy_dataclass import dataclass


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
        virtual: Whether it is a virtual environment, so that nothing of the system is in it.
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
    virtual: bool = False

    def distribution(self, name: str) -> Distribution | None:
        """Return the distribution of this normalised name (``flash-attn``), if installed."""
        return next((dist for dist in self.distributions if dist.name == name), None)
