"""The facts of one machine: plain frozen data, JSON on disk, no judgement.

Every section is ``None`` when its probe was not run or failed; ``Snapshot.probes`` says which,
why, and how long it took. What the sections hold stands in ``facts/``, one module a subject.
"""

from __future__ import annotations

from dsv4_doctor.facts.build_tools import BuildTool
from dsv4_doctor.facts.compiler import HostCompilers
from dsv4_doctor.facts.driver import Driver
from dsv4_doctor.facts.gpu import Gpu
from dsv4_doctor.facts.host import Host
from dsv4_doctor.facts.pci import PciGpu
from dsv4_doctor.facts.python import PythonEnvironment
from dsv4_doctor.facts.toolkit import Toolkits
from dsv4_doctor.lazy_dataclass import dataclass

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
