"""From what a text tells to a snapshot, in which everything else is marked as not told."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from dsv4_doctor import __version__
from dsv4_doctor.facts.build_tools import BuildTool
from dsv4_doctor.facts.compiler import Compiler, HostCompilers
from dsv4_doctor.facts.driver import Driver
from dsv4_doctor.facts.gpu import Gpu
from dsv4_doctor.facts.host import Host
from dsv4_doctor.facts.python import Distribution, PythonEnvironment, TorchBuild
from dsv4_doctor.facts.toolkit import HostCompilerLimits, Picks, Toolkit, Toolkits
from dsv4_doctor.facts.topology import Topology
from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.gpu_archs import arch_named
from dsv4_doctor.probes.registry import PROBES
from dsv4_doctor.snapshot import ProbeRun, Snapshot

if TYPE_CHECKING:
    from dsv4_doctor.ingest.told import Told, ToldGpu

NVCC = "the nvcc on PATH"
_PIP = "pip list in the text"
_VERSIONED = re.compile(r"cuda-(\d+\.\d+)")
# Of a GPU ``None`` means "not told" anyway; but whether it is well is known only when all of these
# are.
_HEALTH = frozenset(
    {
        "gpus.ecc_uncorrected",
        "gpus.remap_failed",
        "gpus.remap_pending",
        "gpus.retirement_pending",
        "gpus.fabric_state",
        "gpus.fabric_status",
        "gpus.nvlinks",
    }
)
# Fields that a text leaves open and whose empty value misleads nobody: they describe, or ``None``
# means "not told" there, too.
_OPEN = frozenset(
    {
        "driver.cuda",
        "driver.flavour",
        "driver.kernel_module",
        "driver.nvml_error",
        "driver.nvml_library",
        "driver.xids",
        "host.distribution",
        "host.distribution_version",
        "host.hostname",
        "host.kernel",
        "host.machine",
        "host.memory",
        "host.memory_available",
        "host.numa_nodes",
        "host.root",
        "python.virtual",
        "compilers.error",
        "toolkits.found.nvcc_error",
        "toolkits.found.header_version",
        "toolkits.found.manifest_version",
        "toolkits.found.host_compiler",
        "toolkits.found.archs",
        "toolkits.found.cccl_version",
        "toolkits.found.runtime_version",
        "topology.iommu_groups",
    }
)


class _Runs:
    """Collects why sections and fields are not known."""

    def __init__(self, kind: str) -> None:
        self.errors: dict[str, str] = {}
        self._kind = kind

    def missing(self, section: str, what: str) -> None:
        """Say that a section is not told."""
        self.errors[section] = f"{what} is not told by the {self._kind}"

    def fill(self, section: str, kind: type[Any], told: dict[str, Any], **fixed: Any) -> Any:
        """Return a part of a section with what was told; the rest is marked as not told.

        Args:
            section: Path of the part.
            kind: Its dataclass.
            told: Its fields that are known.
            fixed: Values for what only describes.
        """
        values = {**fixed, **told}
        for field in fields(kind):
            if field.name in values:
                continue
            values[field.name] = _EMPTY.get(str(field.type).split("[")[0])
            path = f"{section}.{field.name}"
            if path not in _OPEN and (section != "gpus" or path in _HEALTH):
                self.errors[path] = f"not told by the {self._kind}"
        return kind(**values)


_EMPTY: dict[str, Any] = {"str": "", "int": 0, "bool": False, "tuple": (), "dict": {}}


def assemble(told: Told, origin: tuple[str, ...] = ()) -> Snapshot:
    """Return the snapshot of a machine from what a text tells of it.

    Args:
        told: What all documents about the machine tell.
        origin: See :attr:`Snapshot.origin`.
    """
    runs = _Runs(told.kind)
    sections: dict[str, Any] = {
        "toolkits": _toolkits(told, runs),
        "python": _python(told, runs),
        "compilers": _compilers(told, runs),
        "build_tools": tuple(BuildTool(name, name, told.tools[name]) for name in told.tools)
        or None,
        "driver": runs.fill("driver", Driver, dict(told.driver)) if told.driver else None,
        "gpus": _gpus(told.gpus, runs) if told.gpus is not None else None,
        "host": runs.fill("host", Host, dict(told.host)) if told.host else None,
        "topology": runs.fill("topology", Topology, dict(told.topology)) if told.topology else None,
        "environment": dict(told.environment or {}),
    }
    for name in _sections():
        if sections.get(name) is None:
            runs.errors.setdefault(name, f"not told by the {told.kind}")
    if told.no_gpus:
        runs.errors["gpus"] = told.no_gpus
    named = "lists only some" if told.environment else "does not list"
    runs.errors["environment"] = f"the {told.kind} {named} environment variables"
    return Snapshot(
        taken_at="",
        tool_version=__version__,
        probes=_probe_runs(runs.errors),
        origin=origin,
        foreign=told.foreign,
        **sections,
    )


def _probe_runs(errors: dict[str, str]) -> tuple[ProbeRun, ...]:
    whole = [ProbeRun(name, 0.0, errors.get(name)) for name in _sections()]
    parts = [ProbeRun(path, 0.0, errors[path]) for path in sorted(errors) if "." in path]
    return (*whole, *parts)


def _sections() -> list[str]:
    return [probe.name for probe in PROBES]


def _gpus(told: tuple[ToldGpu, ...], runs: _Runs) -> tuple[Gpu, ...]:
    return tuple(
        runs.fill(
            "gpus",
            Gpu,
            dict(gpu.values),
            index=gpu.index,
            name=f"GPU {gpu.index}",
            compute_capability=_capability(gpu),
        )
        for gpu in told
    )


def _capability(told: ToldGpu) -> str | None:
    arch = arch_named(told.name)
    return f"{arch.major}.{arch.minor}" if arch is not None else None


def _toolkits(told: Told, runs: _Runs) -> Toolkits | None:
    if told.nvcc is None:
        runs.missing("toolkits", "an nvcc on PATH")
        return None
    other = _VERSIONED.search((told.environment or {}).get("CUDA_HOME", ""))
    if other is not None and not told.nvcc.startswith(f"{other[1]}."):
        reason = f"CUDA_HOME names CUDA {other[1]}, and the nvcc on PATH is {told.nvcc}"
        runs.errors["toolkits"] = f"{reason}: more of the first is not told"
        return None
    toolkit = runs.fill(
        "toolkits.found",
        Toolkit,
        {"nvcc_version": told.nvcc, "host_compiler": _limits(told.nvcc)},
        root=NVCC,
        origins=("PATH",),
        nvcc="nvcc",
    )
    picks = runs.fill("toolkits.picks", Picks, {"path": NVCC})
    found: Toolkits = runs.fill("toolkits", Toolkits, {"found": (toolkit,), "picks": picks})
    return found


def _limits(nvcc: str) -> HostCompilerLimits | None:
    """Return what the header of this CUDA release accepts, which is the same on every machine."""
    name = ".".join(nvcc.split(".")[:2])
    known = next((each for each in load.toolkit_releases() if each.name == name), None)
    if known is None or known.gcc_max is None:
        return None
    place = known.place
    return HostCompilerLimits(known.gcc_max, None, f"{place.project} {place.release}: {place.file}",
                              place.line)  # fmt: skip


def _compilers(told: Told, runs: _Runs) -> HostCompilers | None:
    if told.gcc is None:
        runs.missing("compilers", "a gcc on PATH")
        return None
    gcc = Compiler("gcc", "gcc", told.gcc)
    values: dict[str, Any] = {"found": (gcc,)}
    if not _names_compiler(told.environment or {}):
        values |= {"used": gcc, "used_because": "PATH, as far as is told"}
    found: HostCompilers = runs.fill("compilers", HostCompilers, values)
    return found


def _names_compiler(environment: Any) -> bool:
    """Whether a variable may give nvcc another compiler than the gcc on PATH."""
    names = ("NVCC_CCBIN", "CUDAHOSTCXX", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "CXX", "CC")
    return any(environment.get(name) for name in names)


def _python(told: Told, runs: _Runs) -> PythonEnvironment | None:
    if told.python is None:
        runs.missing("python", "the version of Python")
        return None
    torch = {
        "torch": runs.fill("python.torch", TorchBuild, _torch(told), path=told.kind)
    } if "version" in told.torch else {}  # fmt: skip
    found: PythonEnvironment = runs.fill(
        "python",
        PythonEnvironment,
        {"version": told.python, **torch},
        executable="python",
        chosen_by="the text",
        prefix="the environment of the text",
        headers_expected="the include directory of this Python",
        distributions=tuple(Distribution(*item, _PIP) for item in told.packages.items()),
    )
    runs.errors["python.distributions"] = f"the {told.kind} lists only some packages"
    return found


def _torch(told: Told) -> dict[str, Any]:
    """Return what is known of torch, whose local tag also names its CUDA."""
    torch = dict(told.torch)
    tag = str(torch["version"]).partition("+")[2]
    if "cuda" not in torch and tag.startswith("cu") and tag[2:].isdecimal() and len(tag) > 4:
        torch["cuda"] = f"{tag[2:-1]}.{tag[-1]}"
    if "cuda" in torch:
        # A CPU build and a CUDA build are no builds for ROCm.
        torch.setdefault("hip", None)
    return torch
