#!/usr/bin/env python3
"""Times ``dsv4-doctor check`` beside ``python -m torch.utils.collect_env``, in turn.

    scripts/bench_check.py --python /path/to/environment/bin/python

The environment is one with torch installed: the check looks at it, and collect_env runs in it.
Both read the same machine, so the ratio holds where absolute times drift.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Run:
    """One finished process: wall seconds and peak resident memory in MiB."""

    wall: float
    peak: float


def measure(argv: list[str]) -> Run:
    """Run a command to its end, its output thrown away.

    Compiled modules may be written, as in any installation: the warm-up leaves them behind.
    """
    environ = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    started = time.perf_counter()
    child = subprocess.Popen(
        argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environ
    )
    _, _, usage = os.wait4(child.pid, 0)
    return Run(time.perf_counter() - started, usage.ru_maxrss / 1024)


def row(name: str, runs: list[Run]) -> str:
    """Return one line of the table: minimum, median and maximum."""
    walls = sorted(run.wall for run in runs)
    peak = max(run.peak for run in runs)
    median = statistics.median(walls)
    return f"{name:28} {walls[0]:8.3f} {median:8.3f} {walls[-1]:8.3f} {peak:10.1f}"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable, help="interpreter with torch")
    parser.add_argument("-n", type=int, default=7, help="runs of each, after one warm-up")
    options = parser.parse_args()

    doctor = shutil.which("dsv4-doctor", path=str(Path(sys.executable).parent)) or "dsv4-doctor"
    commands = {
        "check --format json": [doctor, "check", "--python", options.python, "--format", "json"],
        "check --format text": [doctor, "check", "--python", options.python],
        "torch.utils.collect_env": [options.python, "-m", "torch.utils.collect_env"],
    }
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    for turn in range(options.n + 1):
        for name, argv in commands.items():
            run = measure(argv)
            if turn:
                runs[name].append(run)
    print(f"{'':28} {'min s':>8} {'median s':>8} {'max s':>8} {'peak MiB':>10}")
    for name, made in runs.items():
        print(row(name, made))
    base = [run.wall for run in runs["torch.utils.collect_env"]]
    for name in list(commands)[:2]:
        pairs = zip(base, runs[name], strict=True)
        ratio = statistics.median(peer / run.wall for peer, run in pairs)
        print(f"collect_env takes {ratio:.1f} times as long as {name}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
