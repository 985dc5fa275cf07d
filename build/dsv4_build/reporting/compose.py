"""The account of a build from what it left in its work directory."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from dsv4_build.reporting import diary as diaries
from dsv4_build.reporting import ninja_log, units
from dsv4_build.reporting.diary import Diary
from dsv4_build.reporting.model import SCHEMA, BuildReport, StepRun
from dsv4_doctor import __version__
from dsv4_doctor.identifiers import URL

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dsv4_build.caching.statistics import Statistics
    from dsv4_build.plan import Plan
    from dsv4_build.reporting.model import Outcome, UnitRun
    from dsv4_build.work import Workspace


def compose(
    plan: Plan,
    work: Workspace,
    ended: tuple[Outcome, str],
    cache: Statistics | None,
    family: Callable[[str], str],
) -> BuildReport:
    """Compose the account.

    Args:
        ended: How it ended, and why when it did not come to its end.
        cache: What the compiler cache did.
        family: Tells the family of an object.

    Raises:
        OSError: A file in the work directory cannot be read.
    """
    cached = cache.units if cache is not None else ()
    lines = _this_run(work.journal.read())
    steps = _steps(lines)
    compiled = any(step.name == "compile" for step in steps)
    diary = _diary(work) if compiled else Diary()
    host, choices = plan.facts.host, plan.choices
    return BuildReport(
        outcome=ended[0],
        # What a program printed may hold the address of a server with its password.
        error=URL.sub(r"\1\2", ended[1]),
        what=f"{plan.tree.name} {plan.tree.source.version}".strip(),
        archs=tuple(arch.sm for arch in plan.scope.archs),
        toolchain=f"nvcc {choices.toolchain.toolkit.nvcc_version}, {choices.compiler.name}",
        started=str(lines[0].get("start", "")) if lines else "",
        seconds=sum(step.seconds for step in steps),
        cores=diary.cores or (host.cpus if host is not None else None),
        jobs=diary.jobs or choices.jobs.count,
        memory=host.memory if host is not None else None,
        measured=bool(diary.moments),
        steps=steps,
        units=units.of_diary(diary, cached)
        or (_of_ninja(work, cached, family) if compiled else ()),
        moments=units.thinned(diary.moments),
        evictions=diary.evictions,
        cache=cache,
        notes=(*plan.notes, *diary.notes),
        log=str(work.log),
    )


def document(report: BuildReport, result: dict[str, Any] | None) -> dict[str, Any]:
    """Return the account in the schema ``dsv4-doctor/build-report/1``.

    Args:
        result: The document of what was built, ``None`` for a build that did not come to its end.
    """
    tool = {"name": "dsv4-doctor", "version": __version__}
    return {"schema": SCHEMA, "tool": tool, **asdict(report), "result": result}


def _diary(work: Workspace) -> Diary:
    diary = Diary()
    file = work.root / diaries.FILE
    if file.is_file():
        with file.open(encoding="utf-8", errors="replace") as lines:
            diary.read(lines)
    return diary


def _this_run(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    begins = [at for at, entry in enumerate(entries) if entry["event"] == "build"]
    return entries[begins[-1] :] if begins else []


def _steps(entries: Sequence[dict[str, Any]]) -> tuple[StepRun, ...]:
    ended = {entry["step"]: entry for entry in entries if entry["event"] == "end"}
    begun = [entry["step"] for entry in entries if entry["event"] == "begin"]
    return tuple(_step(name, ended.get(name)) for name in dict.fromkeys(begun))


def _step(name: str, entry: dict[str, Any] | None) -> StepRun:
    if entry is None:
        return StepRun(name, "cut off", 0.0, 0.0, 0)
    start, end = (datetime.fromisoformat(entry[each]) for each in ("start", "end"))
    usage = entry["usage"]
    return StepRun(
        name=name,
        outcome=entry["outcome"],
        seconds=(end - start).total_seconds(),
        cpu_seconds=sum(each["cpu_seconds"] for each in usage),
        peak_memory=max((each["peak_memory"] for each in usage), default=0),
    )


def _of_ninja(
    work: Workspace, cached: Sequence[str], family: Callable[[str], str]
) -> tuple[UnitRun, ...]:
    logs = [work.build / ninja_log.FILE, *work.source.glob(f"build/temp*/{ninja_log.FILE}")]
    log = next((each for each in logs if each.is_file()), None)
    if log is None:
        return ()
    made = ninja_log.parse(log.read_text("utf-8", "replace"))
    return units.of_ninja(made, cached, family)
