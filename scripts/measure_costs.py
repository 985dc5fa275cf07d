#!/usr/bin/env python3
"""What units of a configured tree cost to compile: CPU time, peak memory, memory over their life.

    scripts/measure_costs.py BUILD_DIR --out costs.json [--jobs N] [--pss] [PATTERN ...]

Compiles every unit whose object path matches a shell pattern (all without one), a few at a time,
and writes records in the form of build/dsv4_build/knowledge/compile_costs.json. Units that are in
the output file already are left out, so that a run can be interrupted and repeated. The objects
go to a temporary directory: the build directory stays as it was.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from dsv4_build.schedule import curve, procfs
from dsv4_doctor.process import run

INTERVAL = 0.25


@dataclass(frozen=True)
class Command:
    """How ninja compiles one object."""

    object: str
    argv: tuple[str, ...]
    directory: str


def commands(build: Path, ninja: str, patterns: list[str]) -> list[Command]:
    """Return the commands of the units that match, in ninja's order."""
    done = run([ninja, "-C", str(build), "-t", "compdb"], limit=120)
    if not done.ok:
        sys.exit(f"ninja -t compdb failed: {done.stderr}")
    text = done.stdout[done.stdout.index("[") :]
    found = []
    for entry in json.loads(text):
        name = entry["output"]
        wanted = not patterns or any(fnmatch(name, pattern) for pattern in patterns)
        if name.endswith(".o") and wanted:
            argv = tuple(shlex.split(entry["command"]))
            found.append(Command(name, argv, entry["directory"]))
    return found


def measure(command: Command, *, proportional: bool) -> dict[str, object]:
    """Compile one unit and return its record."""
    with tempfile.TemporaryDirectory() as scratch:
        target = str(Path(scratch, "unit.o"))
        argv = [target if each == command.object else each for each in command.argv]
        argv = [f"{scratch}/unit.d" if each == f"{command.object}.d" else each for each in argv]
        started = time.monotonic()
        with Path(scratch, "log").open("wb") as log:
            child = subprocess.Popen(argv, cwd=command.directory, stdout=log, stderr=log)
        samples = []
        while os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            use = procfs.use(child.pid, proportional=proportional)
            samples.append(curve.Sample(use.cpu_seconds, use.memory))
            time.sleep(INTERVAL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - started
        printed = Path(scratch, "log").read_text(encoding="utf-8", errors="replace")
    if child.returncode != 0:
        print(f"{command.object}: exit status {child.returncode}\n{printed}", file=sys.stderr)
        return {}
    cpu = usage.ru_utime + usage.ru_stime
    sampled = max((sample.memory for sample in samples), default=0)
    return {
        "object": command.object,
        "seconds": round(cpu, 1),
        "wall": round(seconds, 1),
        "peak": max(sampled, usage.ru_maxrss << 10),
        "curve": curve.from_samples(samples, cpu).to_json(),
    }


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=1, help="units at a time")
    parser.add_argument("--ninja", default="ninja")
    parser.add_argument("--pss", action="store_true", help="count shared pages by their users")
    options = parser.parse_args()
    known = json.loads(options.out.read_text()) if options.out.is_file() else []
    names = {record["object"] for record in known}
    wanted = commands(options.build.resolve(), options.ninja, options.patterns)
    with ThreadPoolExecutor(options.jobs) as pool:
        left = [command for command in wanted if command.object not in names]
        for record in pool.map(lambda each: measure(each, proportional=options.pss), left):
            if record:
                known.append(record)
                options.out.write_text(json.dumps(known, indent=1) + "\n")
                print(record["object"], record["seconds"], record["peak"], file=sys.stderr)


if __name__ == "__main__":
    main()
