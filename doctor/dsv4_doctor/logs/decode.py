"""What numbers and names in a log stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks.remedies import install_package
from dsv4_doctor.knowledge.signature import header_packages
from dsv4_doctor.report import Remedy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsv4_doctor.facts.host import Host


def facts(read: Mapping[str, str]) -> dict[str, str]:
    """Return the facts of a line with what can be told from them.

    ``cuda_number`` (such as 12080, of ``cudaRuntimeGetVersion``) gives ``cuda`` (12.8), ``header``
    gives ``package``, and ``capability`` (sm_120, 12.0) gives ``arch`` (12.0).
    """
    told = dict(read)
    if number := read.get("cuda_number"):
        told["cuda"] = cuda_version(int(number))
    if header := read.get("header"):
        package = _packages(header)
        if package:
            told["package"] = package["debian"]
    if capability := read.get("capability"):
        told["arch"] = dotted(capability)
    return told


def cuda_version(number: int) -> str:
    """Return the version that CUDA writes as one number: major * 1000 + minor * 10."""
    return f"{number // 1000}.{number % 1000 // 10}"


def dotted(capability: str) -> str:
    """Return a compute capability as TORCH_CUDA_ARCH_LIST wants it: ``sm_120`` is ``12.0``."""
    digits = capability.removeprefix("sm_").rstrip("af")
    return capability if "." in digits or len(digits) < 2 else f"{digits[:-1]}.{digits[-1]}"


def with_package(
    remedy: Remedy | None, told: Mapping[str, str], host: Host | None
) -> Remedy | None:
    """Return a remedy with the command that installs what has the header that is missing."""
    package = _packages(told.get("header", ""))
    if remedy is None or not package:
        return remedy
    commands = install_package(host, debian=package["debian"], redhat=package["redhat"])
    return Remedy(remedy.text, (*remedy.commands, *commands))


def _packages(header: str) -> Mapping[str, str]:
    return header_packages().get(header, {})
