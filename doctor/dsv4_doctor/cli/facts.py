"""Where the facts of a command come from: this machine, a stored snapshot, or a pasted text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from dsv4_doctor.ingest.release import ToldRelease
    from dsv4_doctor.snapshot import Snapshot

T = TypeVar("T")


def start_facts(  # noqa: PLR0913 - one parameter an option
    source: str | None,
    python: str | None,
    block: int | None = None,
    *,
    tree: str | None = None,
    deep: bool = False,
    archs: tuple[str, ...] = (),
) -> Callable[[], Snapshot]:
    """Read a stored snapshot, or start to take one; the result returns it when it is there.

    Args:
        source: The stored one, ``None`` for this machine.
        python: Interpreter of the environment to look at.
        block: Which machine of a pasted text.
        tree: What was given as vLLM; a directory is where a build would run.
        deep: Whether to look at what takes longer, too.
        archs: Architectures that were asked for.
    """
    if source is not None:
        from dsv4_doctor.ingest.load import load  # noqa: PLC0415 - a live check reads no text

        stored = load(source, block)
        return lambda: stored
    from dsv4_doctor.probes.registry import Request, start  # noqa: PLC0415

    tree = tree if tree is not None and Path(tree).is_dir() else None
    return start(Request(python=python, tree=tree, deep=deep, archs=archs)).finish


def redactor() -> Callable[[T], T]:
    """Return what takes out of several documents whatever identifies, the same in all of them."""
    from dsv4_doctor.redact import Redactor  # noqa: PLC0415 - only who asks for it waits for it

    return Redactor().redact


def as_it_is(document: T) -> T:
    """Return a document that nothing is taken out of."""
    return document


def release_told(snapshot: Snapshot) -> ToldRelease | None:
    """Return the release that a pasted text is about, ``None`` for a snapshot of a machine."""
    from dsv4_doctor.ingest.release import told_release  # noqa: PLC0415

    return told_release(snapshot)
