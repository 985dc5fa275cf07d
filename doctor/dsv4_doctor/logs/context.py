"""What is known of the machine that wrote a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.evaluation import evaluate
from dsv4_doctor.knowledge import load
from dsv4_doctor.logs.conclusion import Machine
from dsv4_doctor.target import Target

if TYPE_CHECKING:
    from dsv4_doctor.knowledge.model import Release
    from dsv4_doctor.snapshot import Snapshot


def machine(snapshot: Snapshot, release: Release | None = None) -> Machine:
    """Hold a machine against what vLLM needs, to build and to serve.

    Args:
        release: What it is held against; by default the release that is installed there when it is
            a known one, else the one that ``check`` chooses.
    """
    chosen = release or _installed(snapshot) or load.default_release()
    wanted = load.project().default_features
    target = Target(
        release=chosen.name,
        archs=(),
        features=tuple(name for name in wanted if chosen.has(name)),
        purpose="all",
        features_asked=False,
    )
    report = evaluate(snapshot, target, chosen)
    return Machine(snapshot.host, report.findings)


def _installed(snapshot: Snapshot) -> Release | None:
    found = snapshot.python.distribution("vllm") if snapshot.python is not None else None
    if found is None or found.version not in load.release_names():
        return None
    return load.release(found.version)
