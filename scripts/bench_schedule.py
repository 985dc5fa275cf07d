#!/usr/bin/env python3
"""The compile engine against fixed jobs, for real: units of a tree under a limit of memory.

    scripts/bench_schedule.py BUILD_DIR [--memory 6G] [--cores 2] [--jobs N]... [--no-fixed] UNIT...

Needs root and a control group controller for memory (version 1 or 2). For each setting a group of
its own is made, and ninja builds the units in it (object paths, or shell patterns of them), pinned
to some processors: with -j N for each of --jobs, and as `dsv4-doctor build` does. BUILD_DIR is a
build directory of CMake and ninja. It is copied for each setting, so that it stays as it was.

Prints wall time, largest memory, the kernel's kills, and whether all was built. Exit status 1 when
ours was killed, or took more than 1.10 times the best fixed setting that survived.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_build.choices import Jobs
from dsv4_build.schedule import learned, memory, session
from dsv4_build.schedule.window import window

if TYPE_CHECKING:
    from collections.abc import Iterator

FACTOR = 1.10
_SIZES = {"K": 10, "M": 20, "G": 30}


@dataclass(frozen=True)
class Group:
    """A control group."""

    path: Path
    unified: bool

    @property
    def kills(self) -> int:
        """How many processes the kernel killed in it."""
        name = "memory.events" if self.unified else "memory.oom_control"
        return memory.parse_numbers((self.path / name).read_text()).get("oom_kill", 0)

    @property
    def peak(self) -> int:
        """The largest use, page cache included."""
        name = "memory.peak" if self.unified else "memory.max_usage_in_bytes"
        file = self.path / name
        return int(file.read_text()) if file.is_file() else 0


@dataclass(frozen=True)
class Run:
    """How one setting went."""

    name: str
    seconds: float
    built: bool
    kills: int
    peak: int
    largest: int


@contextmanager
def group(limit: int) -> Iterator[Group]:
    """Make a control group with a limit of memory and no swap."""
    root = Path("/sys/fs/cgroup")
    unified = "memory" in _read(root / "cgroup.controllers").split()
    if unified:
        (root / "cgroup.subtree_control").write_text("+memory")
    path = (root if unified else root / "memory") / f"dsv4-bench-{os.getpid()}"
    path.mkdir()
    (path / ("memory.max" if unified else "memory.limit_in_bytes")).write_text(str(limit))
    swap = path / ("memory.swap.max" if unified else "memory.memsw.limit_in_bytes")
    if swap.is_file():
        swap.write_text("0" if unified else str(limit))
    try:
        yield Group(path, unified)
    finally:
        for _ in range(200):
            try:
                path.rmdir()
                break
            except OSError:
                time.sleep(0.1)


def _read(path: Path) -> str:
    return path.read_text() if path.is_file() else ""


def targets(build: Path, ninja: str, patterns: list[str]) -> list[str]:
    """Return the objects that match, in ninja's order."""
    argv = [ninja, "-C", str(build), "-t", "targets", "all"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    paths = [line.partition(": ")[0] for line in done.stdout.splitlines()]
    objects = [path for path in paths if path.endswith(".o")]
    return [path for path in objects if any(fnmatch(path, each) for each in patterns)]


def run(name: str, argv: list[str], environ: dict[str, str], options: argparse.Namespace) -> Run:
    """Run a command in a group of its own, pinned to some processors."""
    allowed = ",".join(map(str, sorted(os.sched_getaffinity(0))[: options.cores]))
    with group(options.memory) as here:
        started, largest = time.monotonic(), 0

        enter = f'echo $$ > {here.path}/cgroup.procs && exec taskset -c {allowed} "$@"'
        with Path(options.scratch, f"{name}.log").open("wb") as log:
            command = ["sh", "-c", enter, "sh", *argv]
            child = subprocess.Popen(command, env=environ, stdout=log, stderr=log)
            while child.poll() is None:
                stat = memory.parse_numbers((here.path / "memory.stat").read_text())
                largest = max(largest, stat.get("total_rss", stat.get("anon", 0)))
                time.sleep(0.2)
        seconds = time.monotonic() - started
        return Run(name, seconds, child.returncode == 0, here.kills, here.peak, largest)


def fixed(jobs: int, build: Path, options: argparse.Namespace) -> Run:
    """Build with ``ninja -j``."""
    argv = [options.ninja, "-C", str(build), "-j", str(jobs), *options.objects]
    return run(f"-j {jobs}", argv, dict(os.environ), options)


def ours(build: Path, options: argparse.Namespace) -> Run:
    """Build as the doctor does: this script again, in the group, with the server in it."""
    argv = [sys.executable, __file__, str(build), "--inside", "--ninja", options.ninja]
    argv += ["--cores", str(options.cores), "--memory", str(options.memory)]
    if options.costs:
        argv += ["--costs", str(options.costs)]
    return run("ours", [*argv, *options.objects], dict(os.environ), options)


def inside(options: argparse.Namespace) -> int:
    """Run ninja below a server."""
    work = options.build.parent
    jobs = Jobs(options.cores, "bench", window(options.cores, options.memory))
    place = session.Place(work, work / "cache", "vllm", ["sm_90"], "0")
    if options.costs:
        units = learned.load(options.costs).units
        learned.write(learned.place(place.cache, place.tree, place.archs, place.nvcc), units)
    with session.scheduled(place, options.cores, jobs, print) as variables:
        argv = [options.ninja, "-C", str(options.build), "-j", str(jobs.window)]
        environ = {**os.environ, **variables}
        return subprocess.run([*argv, *options.units], env=environ, check=False).returncode


def prepared(build: Path, name: str, options: argparse.Namespace, *, launcher: bool) -> Path:
    """Return a copy of the build directory, whose commands begin with the launcher."""
    work = Path(options.scratch, name)
    target = work / "build"
    shutil.copytree(build, target, symlinks=True)
    rules, edges = target / "CMakeFiles" / "rules.ninja", target / "build.ninja"
    command = " ".join(session.install(work / session.DIRECTORY)) + " " if launcher else ""
    for file in (rules, edges):
        text = file.read_text().replace(str(build), str(target))
        # A pool that was configured for few jobs would hide what -j does.
        text = re.sub(r"^(  depth = )\d+$", r"\g<1>1000", text, flags=re.MULTILINE)
        file.write_text(text.replace("${LAUNCHER}", command))
    for path in options.objects:
        (target / path).unlink(missing_ok=True)
    return target


def show(done: Run) -> None:
    """Print the row of a setting."""
    result = "built" if done.built else "failed"
    print(
        f"{done.name:<8}{done.seconds:9.1f} s  {result:<8}{done.kills:3} killed"
        f"  most {done.largest / 1e9:5.2f} GB, with page cache {done.peak / 1e9:5.2f} GB",
        flush=True,
    )


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("units", nargs="+", metavar="UNIT")
    parser.add_argument("--memory", type=size, default=6 << 30)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--jobs", type=int, action="append", help="repeatable; default: 1 and 2")
    parser.add_argument("--no-fixed", action="store_true", help="measure the engine alone")
    parser.add_argument("--costs", type=Path, help="schedule-costs.json to begin with")
    parser.add_argument("--ninja", default="ninja")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def size(text: str) -> int:
    """Read a number of bytes such as ``6G``."""
    unit = _SIZES.get(text[-1:].upper())
    return int(text) if unit is None else int(float(text[:-1]) * (1 << unit))


def main() -> int:
    """Measure what the command line names."""
    options = parse()
    options.build = options.build.resolve()
    if options.inside:
        return inside(options)
    options.objects = targets(options.build, options.ninja, options.units)
    print(f"{len(options.objects)} units, {options.cores} processors, load {os.getloadavg()}")
    with tempfile.TemporaryDirectory(prefix="dsv4-bench-") as scratch:
        options.scratch = scratch
        runs = []
        for jobs in () if options.no_fixed else options.jobs or (1, 2):
            build = prepared(options.build, f"j{jobs}", options, launcher=False)
            runs.append(fixed(jobs, build, options))
            show(runs[-1])
        mine = ours(prepared(options.build, "ours", options, launcher=True), options)
        show(mine)
        if not mine.built:
            print(Path(scratch, "ours.log").read_text(errors="replace")[-3000:], file=sys.stderr)
        events = Path(scratch, "ours", "schedule.jsonl").read_text().splitlines()
        kinds = [json.loads(line)["event"] for line in events]
        counts = {each: kinds.count(each) for each in ("paused", "evicted", "killed")}
        print(f"ours: {counts}, load {os.getloadavg()}")
    surviving = [each.seconds for each in runs if each.built and not each.kills]
    if surviving:
        print(f"ours / best fixed that survives: {mine.seconds / min(surviving):.2f}")
    good = mine.built and not mine.kills
    return int(not (good and (not surviving or mine.seconds <= FACTOR * min(surviving))))


if __name__ == "__main__":
    sys.exit(main())
