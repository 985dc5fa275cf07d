"""Which release, GPU and model the servers of a file are held against, and the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.knowledge import load
from dsv4_doctor.lint.invocations import release_of_image
from dsv4_doctor.lint.linting import judge
from dsv4_doctor.lint.report import LintReport
from dsv4_doctor.lint.subject import against, gpu_named, gpu_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dsv4_doctor.lint.model import Invocation
    from dsv4_doctor.lint.subject import Gpu


def report(  # noqa: PLR0913 - the options of the command
    servers: Sequence[Invocation],
    file: str,
    root: Path,
    *,
    vllm: str | None = None,
    gpu: str | None = None,
    snapshot: str | None = None,
    model: str = "",
) -> LintReport:
    """Judge the servers of a file.

    Args:
        servers: As a reader of ``lint/documents.py`` gives them.
        file: Path, empty for a command line.
        root: Directory that a relative ``--config`` is in.
        vllm: Release or source tree, ``None`` to take what each server's image or file names.
        gpu: Name or architecture.
        snapshot: File of a machine, whose GPUs are taken instead.
        model: Name or directory, where the commands do not name it.

    Raises:
        UsageError: An unknown release or GPU.
        InputError: The snapshot or the source tree cannot be read.
    """
    notes: list[str] = []
    machine = _gpu(gpu, snapshot, notes)
    judged = []
    for server in servers:
        held, said = against(_release(server, vllm, notes), machine, model)
        notes += said
        judged.append(judge(server, held, root))
    return LintReport(file, tuple(judged), tuple(dict.fromkeys(notes)))


def _gpu(gpu: str | None, snapshot: str | None, notes: list[str]) -> Gpu | None:
    if gpu is not None:
        return gpu_named(gpu)
    if snapshot is None:
        notes.append("no GPU was named: what depends on it was not looked at; --gpu or --snapshot")
        return None
    from dsv4_doctor.ingest.load import load as load_snapshot  # noqa: PLC0415 - rarely asked for

    found = gpu_of(load_snapshot(snapshot))
    if found is None:
        notes.append(f"{snapshot}: no GPU, or several kinds: what depends on it was not looked at")
    else:
        notes.append(f"{found.count} x {found.name} ({found.arch.sm}), from {snapshot}")
    return found


def _release(server: Invocation, vllm: str | None, notes: list[str]) -> str:
    if vllm is not None:
        return vllm
    named = server.packages or release_of_image(server.image)
    if named in load.flag_releases():
        notes.append(f"vLLM {named}, which the file names; --vllm chooses another")
        return named
    chosen = load.default_release().name
    if named:
        notes.append(f"the flags of vLLM {named}, which the file names, are not known")
    notes.append(
        f"vLLM {chosen}: the newest known release with all default features; --vllm chooses another"
    )
    return chosen
