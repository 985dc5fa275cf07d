"""Building twice and comparing: the same bytes, or what differs and why."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsv4_build import leftovers, publish
from dsv4_build.process import Job, run_logged
from dsv4_build.reproduce import scratch
from dsv4_build.reproduce.child import order
from dsv4_build.reproduce.circumstances import plain, strange, variations
from dsv4_build.reproduce.clock import compile_clock
from dsv4_build.reproduce.diffoscope import diffoscope
from dsv4_build.view import ROOT, prefix_of
from dsv4_doctor.binary.difference import compare
from dsv4_doctor.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_build.plan import Plan
    from dsv4_build.progress import Progress
    from dsv4_build.publish import Artifact
    from dsv4_build.reproduce.circumstances import Circumstances, Variation
    from dsv4_build.request import BuildRequest, Surroundings
    from dsv4_doctor.binary.difference import Difference

SCHEMA = "dsv4-doctor/reproducibility/1"

_NAMES = {1: "as usual", 2: "under other circumstances"}


@dataclass(frozen=True)
class Compared:
    """A file of both results.

    Attributes:
        first: SHA-256 in the first, empty where it is not there.
        second: SHA-256 in the second.
    """

    name: str
    first: str
    second: str

    @property
    def same(self) -> bool:
        """Whether both have it with the same bytes."""
        return self.first == self.second


@dataclass(frozen=True)
class Verdict:
    """What came of building twice.

    Attributes:
        paths: How the builds got their paths: ``namespace``, ``fixed`` or ``own``.
        files: Every file of either result.
        differences: For each file that differs, in what.
        reports: What diffoscope says of each, where it is installed.
        artifacts: What was handed over; nothing, when the builds differ.
        kept: Where both results are, when they differ.
    """

    paths: str
    variations: tuple[Variation, ...]
    files: tuple[Compared, ...]
    differences: tuple[Difference, ...] = ()
    reports: tuple[str, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    kept: str = ""

    @property
    def same(self) -> bool:
        """Whether all files are the same in both results."""
        return bool(self.files) and all(each.same for each in self.files)

    def to_json(self) -> dict[str, Any]:
        """Return the verdict in the schema ``dsv4-doctor/reproducibility/1``."""
        return {
            "schema": SCHEMA,
            "same": self.same,
            "paths": self.paths,
            "variations": [asdict(each) for each in self.variations],
            "files": [{**asdict(each), "same": each.same} for each in self.files],
            "differences": [each.to_json() for each in self.differences],
            "diffoscope": list(self.reports),
            "artifacts": [asdict(each) for each in self.artifacts],
            "kept": self.kept,
        }


@dataclass(frozen=True)
class _Run:
    """What both builds have in common."""

    request: BuildRequest
    around: Surroundings
    kind: str
    show: Progress


def verify(request: BuildRequest, around: Surroundings, plan: Plan, show: Progress) -> Verdict:
    """Build twice under circumstances as different as can be, and compare.

    The result is handed over when both are the same; otherwise both are kept to be looked at.

    Args:
        plan: Of the request as it stands.

    Raises:
        BuildError: One of the builds failed.
    """
    run = _Run(request, around, plan.view.kind, show)
    try:
        with ExitStack() as stack:
            bases = [
                stack.enter_context(scratch.temporary(each)) for each in _bases(request, around)
            ]
            jobs = plan.choices.jobs.count
            clock = compile_clock(plan.choices.compiler, bases[1])
            return _compared(run, plain(bases[0], jobs), strange(bases[1], jobs, clock))
    except OSError as error:
        msg = f"the two builds cannot be made or compared: {error}"
        raise BuildError(msg) from error


def _compared(run: _Run, first: Circumstances, second: Circumstances) -> Verdict:
    begun = time.monotonic()
    one = _build(run, 1, first)
    seconds = time.monotonic() - begun
    two = _build(run, 2, second)
    outs = Path(first.base) / "out", Path(second.base) / "out"
    verdict = Verdict(
        paths=run.kind,
        variations=variations(
            first,
            second,
            seconds=seconds,
            reordered=_reordered(*(Path(each["plan"]["work"]) for each in (one, two))),
            fixed=run.kind == "fixed",
        ),
        files=_files(*outs),
    )
    if not verdict.same:
        return _explained(verdict, *outs, run.around.cache)
    proved = Path(first.base) / "proved"
    for name in (each.name for each in verdict.files):
        (proved / name).parent.mkdir(parents=True, exist_ok=True)
        (outs[0] / name).rename(proved / name)
    return replace(verdict, artifacts=publish.publish(proved, run.request.out.absolute()))


def _bases(request: BuildRequest, around: Surroundings) -> tuple[Path, Path]:
    """Return where the two builds may put their directories."""
    small = request.recipe is not None or bool(request.only)
    other = scratch.MEMORY if small and scratch.roomy() else scratch.far(around.cache)
    return scratch.disk(around.cache), other


def _build(run: _Run, number: int, what: Circumstances) -> dict[str, Any]:
    base = Path(what.base)
    work = None if run.kind == "fixed" else base / "work"
    wanted = replace(
        run.request,
        python=_python_at(base, run.request.python),
        out=base / "out",
        work_dir=work,
        jobs=what.jobs,
        clean=True,
        keep_work=True,
        # The second build must not take its objects from the first; and a password that the
        # address of a shared cache holds is for no file.
        cache="off",
        cache_remote=None,
    )
    file = base / "order.json"
    file.write_text(json.dumps(order(wanted, run.around, what)), encoding="utf-8")
    run.show.step(f"build {number}", _NAMES[number])
    argv = [sys.executable, "-m", "dsv4_build.reproduce.child", str(file)]
    job = Job(argv, dict(os.environ), base / "build.log", base)
    try:
        run_logged(job, lambda line: run.show.say(line.strip()))
    except BaseException:
        # Its compilers are in sessions of their own.
        leftovers.end(work or ROOT / "work")
        raise
    built: dict[str, Any] = json.loads(file.with_suffix(".built").read_text(encoding="utf-8"))
    return built


def _python_at(base: Path, python: str | None) -> str | None:
    """Return the same interpreter with its environment under a path of this build."""
    prefix = prefix_of(python) if python is not None else None
    if python is None or prefix is None:
        return python
    link = base / "environment"
    link.symlink_to(prefix)
    return str(link / Path(python).relative_to(prefix))


def _reordered(first: Path, second: Path) -> bool:
    """Whether a directory lists the same names in another order in two copies of a tree."""
    for parent, _, _ in os.walk(first / "source"):
        other = second / "source" / Path(parent).relative_to(first / "source")
        if not other.is_dir():
            continue
        mine, theirs = os.listdir(parent), os.listdir(other)  # noqa: PTH208 - their order
        common = set(mine) & set(theirs)
        if [each for each in mine if each in common] != [each for each in theirs if each in common]:
            return True
    return False


def _files(first: Path, second: Path) -> tuple[Compared, ...]:
    one, two = (dict(_digests(out)) for out in (first, second))
    return tuple(
        Compared(name, one.get(name, ""), two.get(name, "")) for name in sorted({*one, *two})
    )


def _digests(out: Path) -> Iterator[tuple[str, str]]:
    # What lies beside a wheel, or objects, tells when and where it was built.
    files = list(out.glob("*.whl")) or [
        file for file in out.rglob("*") if file.is_file() and file.name != publish.REPORT
    ]
    for file in files:
        yield str(file.relative_to(out)), publish.sha256(file)


def _explained(verdict: Verdict, first: Path, second: Path, cache: Path) -> Verdict:
    kept = scratch.differing(cache)
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(first, kept / "first")
    shutil.copytree(second, kept / "second")
    pairs = [
        (kept / "first" / each.name, kept / "second" / each.name)
        for each in verdict.files
        if each.first and each.second and not each.same
    ]
    return replace(
        verdict,
        differences=tuple(compare(*pair) for pair in pairs),
        reports=tuple(filter(None, (diffoscope(*pair) for pair in pairs))),
        kept=str(kept),
    )
