"""Writing the wheel that is handed over: its bill of materials inside, its provenance beside it."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

from dsv4_build import wheel as wheels
from dsv4_build.compile import installed_requirements
from dsv4_build.handover import archive, crates, materials, provenance, sbom
from dsv4_build.publish import sha256
from dsv4_doctor.errors import BuildError

if TYPE_CHECKING:
    from pathlib import Path

    from dsv4_build.plan import Plan
    from dsv4_build.work import Workspace


def now() -> str:
    """Return the time, as ISO 8601 in UTC."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def seal(plan: Plan, work: Workspace, built: Path, epoch: int, began: str) -> None:
    """Write the wheel in one form into the result directory, with what belongs to it.

    Args:
        built: As the backend wrote it.
        epoch: Time of its files, in seconds.
        began: When this run began.

    Raises:
        BuildError: It cannot be read or written.
    """
    installed = installed_requirements(work.source, plan.choices.python.executable)
    used = (*materials.collect(plan, work.deps, installed), *crates.locked(work.source))
    bom = sbom.render(plan, archive.identity(built), used, epoch)
    target = work.result / built.name
    wheels.normalise(built, target, epoch, {sbom.NAME: bom})
    content = provenance.statement(plan, (target.name, sha256(target)), used, (began, now()))
    try:
        target.with_name(target.name + provenance.SUFFIX).write_bytes(provenance.render(content))
    except OSError as error:
        msg = f"{target.parent}: cannot be written: {error}"
        raise BuildError(msg) from error
