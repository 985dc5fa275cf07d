"""The probes there are, and running them side by side, each under its own limit."""

from __future__ import annotations

import queue
import threading
import time
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dsv4_doctor import __version__
from dsv4_doctor.snapshot import ProbeRun, Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# Seconds that one probe may take before the report goes on without it.
LIMIT = 5.0


@dataclass(frozen=True)
class Request:
    """What the probes are asked to look at.

    Attributes:
        python: Interpreter of the Python environment to look at, ``None`` to find one.
    """

    python: str | None = None


@dataclass(frozen=True)
class Probe:
    """One probe: the section of the snapshot that it fills, and the function that reads it.

    Attributes:
        name: A field of :class:`~dsv4_doctor.snapshot.Snapshot`.
        target: ``module:function``; the function takes a :class:`Request` and returns the
            section. Imported inside the probe's own thread, so that a broken import is that
            probe's failure and nobody else's.
    """

    name: str
    target: str

    def load(self) -> Callable[[Request], Any]:
        """Import the function."""
        module, _, function = self.target.partition(":")
        loaded: Callable[[Request], Any] = getattr(import_module(module), function)
        return loaded


PROBES: tuple[Probe, ...] = (
    Probe("toolkits", "dsv4_doctor.probes.toolkit:probe"),
    Probe("python", "dsv4_doctor.probes.python_environment:probe"),
    Probe("compilers", "dsv4_doctor.probes.compiler:probe"),
    Probe("build_tools", "dsv4_doctor.probes.build_tools:probe"),
    Probe("driver", "dsv4_doctor.probes.driver:probe"),
    Probe("gpus", "dsv4_doctor.probes.gpu:probe"),
    Probe("pci", "dsv4_doctor.probes.pci:probe"),
    Probe("host", "dsv4_doctor.probes.host:probe"),
    Probe("environment", "dsv4_doctor.probes.environment:probe"),
)


def take_snapshot(
    request: Request,
    probes: Iterable[Probe] = PROBES,
    *,
    limit: float = LIMIT,
) -> Snapshot:
    """Run the probes and return all that they found.

    A probe that raises, hangs or cannot be imported leaves its section ``None`` and says why in
    :attr:`Snapshot.probes`; the others are not disturbed. The threads are daemons: one that
    hangs inside a driver call does not keep the process alive.
    """
    answers: queue.SimpleQueue[tuple[Probe, Any, str | None, float]] = queue.SimpleQueue()
    pending = {probe.name: probe for probe in probes}
    names = list(pending)
    started = time.monotonic()
    for probe in list(pending.values()):
        threading.Thread(
            target=_answer, args=(probe, request, answers), name=f"probe-{probe.name}", daemon=True
        ).start()
    sections: dict[str, Any] = {}
    runs: dict[str, ProbeRun] = {}
    while pending:
        remaining = limit - (time.monotonic() - started)
        try:
            probe, section, error, seconds = answers.get(timeout=max(remaining, 0.0))
        except queue.Empty:
            break
        del pending[probe.name]
        sections[probe.name] = section
        runs[probe.name] = ProbeRun(probe.name, round(seconds, 4), error)
    for name in pending:
        runs[name] = ProbeRun(name, round(limit, 4), f"no answer within {limit:g} s")
    return Snapshot(
        taken_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        tool_version=__version__,
        probes=tuple(runs[name] for name in names),
        **sections,
    )


def _answer(
    probe: Probe,
    request: Request,
    answers: queue.SimpleQueue[tuple[Probe, Any, str | None, float]],
) -> None:
    started = time.monotonic()
    section: Any = None
    error: str | None = None
    try:
        section = probe.load()(request)
    except Exception as caught:  # noqa: BLE001 - one broken probe must not hide the others
        error = f"{type(caught).__name__}: {caught}"
    answers.put((probe, section, error, time.monotonic() - started))
