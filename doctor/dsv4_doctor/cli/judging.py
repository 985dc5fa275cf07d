"""From what a command line asks for to the facts and the report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from dsv4_doctor.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from dsv4_doctor.checks.choice import Choice
    from dsv4_doctor.ingest.release import ToldRelease
    from dsv4_doctor.report import Report
    from dsv4_doctor.snapshot import Snapshot
    from dsv4_doctor.target import Purpose

T = TypeVar("T")


@dataclass(frozen=True)
class Asked:
    """What is to be judged, and against what.

    Attributes:
        vllm: Release, sdist or checkout; ``None`` for the doctor's own choice.
        python: Interpreter of the environment to look at.
        source: A stored snapshot or a pasted text; ``None`` for this machine.
        block: Which machine of a pasted text.
        deep: Whether to look at what takes longer, too.
        model: Directory or name of the model to serve.
        redact: Whether to take out what identifies, in facts and report alike.
        choice: Which checks are wanted; ``None`` for all.
    """

    purpose: Purpose = "all"
    vllm: str | None = None
    archs: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    profile: str | None = None
    python: str | None = None
    source: str | None = None
    block: int | None = None
    deep: bool = False
    model: str | None = None
    redact: bool = False
    choice: Choice | None = None


def prepare(asked: Asked) -> Callable[[tuple[str, ...]], tuple[Report, Snapshot]]:
    """Start to take the facts and resolve the target; the result waits and judges.

    What it returns takes notes for the report, and gives the facts beside it.
    """
    facts = start_facts(asked)
    # Imported while the probes wait for other programs: a quarter of the whole run.
    from dsv4_doctor.checks.registry import all_checks  # noqa: PLC0415
    from dsv4_doctor.cli.target import resolve  # noqa: PLC0415
    from dsv4_doctor.evaluation import evaluate  # noqa: PLC0415

    stored = asked.source is not None and not (asked.vllm or asked.profile)
    told = release_told(facts()) if stored else None
    resolved = resolve(
        purpose=asked.purpose,
        vllm=told.release if told is not None else asked.vllm,
        archs=asked.archs,
        features=asked.features,
        profile=asked.profile,
    )
    all_checks()

    def judge(notes: tuple[str, ...]) -> tuple[Report, Snapshot]:
        said = (*((told.note,) if told is not None else ()), *resolved.notes, *notes)
        hide = redactor() if asked.redact else _as_it_is
        snapshot = hide(facts())
        report = evaluate(snapshot, resolved.target, resolved.release, said, asked.choice)
        return hide(report), snapshot

    return judge


def start_facts(asked: Asked) -> Callable[[], Snapshot]:
    """Read a stored snapshot, or start to take one; the result returns it when it is there."""
    if asked.source is not None:
        from dsv4_doctor.ingest.load import load  # noqa: PLC0415 - a live check reads no text

        stored = load(asked.source, asked.block)
        return lambda: stored
    from dsv4_doctor import prober  # noqa: PLC0415
    from dsv4_doctor.probes.registry import Request, start  # noqa: PLC0415

    # A directory that was given as vLLM is where a build would run.
    tree = asked.vllm if asked.vllm is not None and Path(asked.vllm).is_dir() else None
    request = Request(
        python=asked.python, tree=tree, deep=asked.deep, archs=asked.archs, model=asked.model
    )
    beside = prober.begun()
    return beside.take(request) if beside is not None else start(request).finish


def redactor() -> Callable[[T], T]:
    """Return what takes out of several documents whatever identifies, the same in all of them."""
    from dsv4_doctor.redact import Redactor  # noqa: PLC0415 - only who asks for it waits for it

    return Redactor().redact


def _as_it_is(document: T) -> T:
    return document


def release_told(snapshot: Snapshot) -> ToldRelease | None:
    """Return the release that a pasted text is about, ``None`` for a snapshot of a machine."""
    from dsv4_doctor.ingest.release import told_release  # noqa: PLC0415

    return told_release(snapshot)
