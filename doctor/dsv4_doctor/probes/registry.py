"""The probes there are, and running them side by side, each under its own limit."""

from __future__ import annotations

import queue
import threading
import time
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from dsv4_doctor import __version__
from dsv4_doctor.lazy_dataclass import dataclass, replace
from dsv4_doctor.snapshot import ProbeRun, Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

# Seconds that one probe may take before the report goes on without it.
LIMIT = 5.0


@dataclass(frozen=True)
class Request:
    """What the probes are asked to look at.

    Attributes:
        python: Interpreter of the Python environment to look at, ``None`` to find one.
        tree: Directory that a build would run in, ``None`` for the current one.
        deep: Whether the probes that take longer than a check may are run, too.
        model: Directory or name of the model to serve, ``None`` for where models are kept.
        archs: Architectures that the facts will be held against, as the user wrote them; ``None``
            when the facts are kept for any that somebody asks for later.
    """

    python: str | None = None
    tree: str | None = None
    deep: bool = False
    archs: tuple[str, ...] | None = None
    model: str | None = None


Group: TypeAlias = Literal["driver", "installed", "host"]


@dataclass(frozen=True)
class Probe:
    """One probe: the section of the snapshot that it fills, and the function that reads it.

    Attributes:
        name: A field of :class:`~dsv4_doctor.snapshot.Snapshot`.
        target: ``module:function``; the function takes a :class:`Request` and returns the
            section. Imported inside the probe's own thread, so that a broken import is that
            probe's failure and nobody else's.
        deep: Whether it is run only for who asks to look deep.
        group: Those that run in one process (:mod:`dsv4_doctor.prober`): ``driver`` loads a
            driver's library, which may crash; ``installed`` reads what is installed, and takes
            most of the processor; ``host`` is the rest.
        late: Modules that it imports only where there is something to read with them.
    """

    name: str
    target: str
    deep: bool = False
    group: Group = "host"
    late: tuple[str, ...] = ()

    def load(self) -> Callable[[Request], Any]:
        """Import the function."""
        module, _, function = self.target.partition(":")
        loaded: Callable[[Request], Any] = getattr(import_module(module), function)
        return loaded


PROBES: tuple[Probe, ...] = (
    Probe("toolkits", "dsv4_doctor.probes.toolkit:probe", group="installed"),
    Probe(
        "python",
        "dsv4_doctor.probes.python_environment:probe",
        group="installed",
        late=("dsv4_doctor.binary.inspection", "dsv4_doctor.binary.linkage"),
    ),
    Probe("compilers", "dsv4_doctor.probes.compiler:probe", group="installed"),
    Probe("build_tools", "dsv4_doctor.probes.build_tools:probe"),
    Probe("build_tree", "dsv4_doctor.probes.build_tree:probe"),
    Probe("driver", "dsv4_doctor.probes.driver:probe", group="driver"),
    Probe("gpus", "dsv4_doctor.probes.gpu:probe", group="driver"),
    Probe("pci", "dsv4_doctor.probes.pci:probe", group="driver"),
    Probe("host", "dsv4_doctor.probes.host:probe"),
    Probe("environment", "dsv4_doctor.probes.environment:probe"),
    Probe("topology", "dsv4_doctor.probes.topology:probe", group="driver"),
    Probe("resources", "dsv4_doctor.probes.resources:probe"),
    Probe("containers", "dsv4_doctor.probes.containers:probe"),
    Probe("symbols", "dsv4_doctor.probes.symbols:probe", deep=True, group="installed"),
)


@dataclass(frozen=True)
class Pending:
    """Probes that are running.

    Attributes:
        probes: In the order in which a snapshot lists them.
        answers: What those that have ended found.
        started: On the monotonic clock.
        limit: Seconds that each may take.
    """

    probes: tuple[Probe, ...]
    answers: queue.SimpleQueue[_Answer]
    started: float
    limit: float

    def finish(self) -> Snapshot:
        """Wait for the probes, none longer than the limit, and return all that they found."""
        pending = {probe.name for probe in self.probes}
        sections: dict[str, Any] = {}
        runs: dict[str, ProbeRun] = {}
        while pending:
            remaining = self.limit - (time.monotonic() - self.started)
            try:
                answer = self.answers.get(timeout=max(remaining, 0.0))
            except queue.Empty:
                break
            pending.discard(answer.name)
            sections[answer.name] = answer.section
            runs[answer.name] = ProbeRun(answer.name, round(answer.seconds, 4), answer.error)
        for name in pending:
            reason = f"no answer within {self.limit:g} s"
            runs[name] = ProbeRun(name, round(self.limit, 4), reason)
        return Snapshot(
            taken_at=_now(),
            tool_version=__version__,
            probes=tuple(runs[probe.name] for probe in self.probes),
            **sections,
        )


@dataclass(frozen=True)
class _Answer:
    """What one probe found, or why it found nothing."""

    name: str
    section: Any
    error: str | None
    seconds: float


def _now() -> str:
    """Return the time in UTC as ISO 8601 writes it; importing ``datetime`` would take longer."""
    return time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())


def wanted(request: Request, probes: Iterable[Probe] = PROBES) -> tuple[Probe, ...]:
    """Return the probes that a request needs."""
    return tuple(probe for probe in probes if request.deep or not probe.deep)


def of(groups: Iterable[Group], request: Request) -> tuple[Probe, ...]:
    """Return the probes of some groups that a request needs."""
    return tuple(probe for probe in wanted(request) if probe.group in groups)


def load(probes: Iterable[Probe]) -> None:
    """Import probes and all that they may need; what cannot be imported says so when it runs."""
    for probe in probes:
        with suppress(Exception):
            probe.load()
    for module in (module for probe in probes for module in probe.late):
        with suppress(Exception):
            import_module(module)


def nothing(probes: Iterable[Probe], reason: str) -> Snapshot:
    """Return a snapshot in which no probe found anything, for a reason."""
    return Snapshot(
        taken_at=_now(),
        tool_version=__version__,
        probes=tuple(ProbeRun(probe.name, 0.0, reason) for probe in probes),
    )


def merged(snapshots: Sequence[Snapshot]) -> Snapshot:
    """Return one snapshot of what several groups of probes found; there is at least one."""
    runs = {run.name: (run, found) for found in snapshots for run in found.probes}
    ordered = tuple(runs[probe.name][0] for probe in PROBES if probe.name in runs)
    sections = {name: getattr(found, name) for name, (_, found) in runs.items()}
    return replace(snapshots[0], probes=ordered, **sections)


def start(request: Request, probes: Iterable[Probe] = PROBES, *, limit: float = LIMIT) -> Pending:
    """Start the probes and return at once, so that the caller can go on while they read.

    A probe that raises, hangs or cannot be imported leaves its section ``None`` and says why in
    :attr:`Snapshot.probes`; the others are not disturbed. The threads are daemons: one that
    hangs inside a driver call does not keep the process alive.
    """
    pending = Pending(wanted(request, probes), queue.SimpleQueue(), time.monotonic(), limit)
    for probe in pending.probes:
        threading.Thread(
            target=_answer,
            args=(probe, request, pending.answers),
            name=f"probe-{probe.name}",
            daemon=True,
        ).start()
    return pending


def take_snapshot(
    request: Request,
    probes: Iterable[Probe] = PROBES,
    *,
    limit: float = LIMIT,
) -> Snapshot:
    """Run the probes and return all that they found; see :func:`start`."""
    return start(request, probes, limit=limit).finish()


def _answer(probe: Probe, request: Request, answers: queue.SimpleQueue[_Answer]) -> None:
    started = time.monotonic()
    section: Any = None
    error: str | None = None
    try:
        section = probe.load()(request)
    except Exception as caught:  # noqa: BLE001 - one broken probe must not hide the others
        error = f"{type(caught).__name__}: {caught}"
    answers.put(_Answer(probe.name, section, error, time.monotonic() - started))
