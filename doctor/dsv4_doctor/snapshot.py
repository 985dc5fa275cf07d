"""The facts of one machine: plain frozen data, JSON on disk, no judgement.

Every section is ``None`` when its probe was not run or failed; ``Snapshot.probes`` says which,
why, and how long it took. It may also name one field of a section, such as ``python.headers``,
that could not be told: the value of that field then means nothing, and a tuple or a mapping holds
only a part. What the sections hold stands in ``facts/``, one module a subject.
"""

from __future__ import annotations

from dsv4_doctor.facts.build_tools import BuildTool
from dsv4_doctor.facts.build_tree import BuildTree
from dsv4_doctor.facts.compiler import HostCompilers
from dsv4_doctor.facts.containers import Containers
from dsv4_doctor.facts.driver import Driver
from dsv4_doctor.facts.gpu import Gpu
from dsv4_doctor.facts.host import Host
from dsv4_doctor.facts.pci import PciGpu
from dsv4_doctor.facts.python import PythonEnvironment
from dsv4_doctor.facts.resources import Resources
from dsv4_doctor.facts.symbols import Symbols
from dsv4_doctor.facts.toolkit import Toolkits
from dsv4_doctor.facts.topology import Topology
from dsv4_doctor.lazy_dataclass import dataclass

SCHEMA = "dsv4-doctor/snapshot/1"


@dataclass(frozen=True)
class ProbeRun:
    """How one probe ended.

    Attributes:
        name: The probe, which is also the name of the section that it fills; or a field of one.
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
        symbols: Which symbols of the installed extension modules nothing defines; looked for only
            when asked to look deep.
        origin: What a snapshot that no probe took was made from, in lines for a reader.
        foreign: What kind of machine this is when vLLM with CUDA does not run on its kind, such
            as ``macOS``; nothing else is said of such a machine.
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
    build_tree: BuildTree | None = None
    environment: dict[str, str] | None = None
    topology: Topology | None = None
    resources: Resources | None = None
    containers: Containers | None = None
    symbols: Symbols | None = None
    origin: tuple[str, ...] = ()
    foreign: str = ""
    schema: str = SCHEMA

    def probe(self, name: str) -> ProbeRun | None:
        """Return how the probe of this name ended, ``None`` when it was not run."""
        return next((run for run in self.probes if run.name == name), None)
