#!/usr/bin/env python3
"""Times a build, a rebuild out of the compiler cache, and a build of which nothing is left to do.

    scripts/bench_rebuild.py                                       # the smoke recipe
    scripts/bench_rebuild.py --vllm TREE --python PYTHON --only paged_attention_v2.cu

Every build has the same inputs and a work directory and cache of its own, below --place. Of the
compile step, what is timed is configuring and compiling apart, as the journal and ninja's log have
it. Fails when compiling out of the cache takes more than --most percent of compiling, when a hit
gives other bytes, or when a build of which nothing is left to do takes more than --seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Run:
    """One build.

    Attributes:
        wall: Seconds of the whole command.
        report: Its ``build-report.json``.
        digests: SHA-256 of what it gave, by name.
    """

    wall: float
    report: dict[str, Any]
    digests: dict[str, str]

    @property
    def units(self) -> float:
        """Seconds of all units together, as they were spent one after another."""
        return float(sum(unit["seconds"] for unit in self.report["units"]))

    @property
    def compile(self) -> float:
        """Seconds of the compile step: configuring, compiling, linking."""
        return float(sum(s["seconds"] for s in self.report["steps"] if s["name"] == "compile"))


def build(options: argparse.Namespace, place: Path, name: str, *more: str) -> Run:
    """Build and return what it took."""
    out, report = place / f"out-{name}", place / f"report-{name}"
    argv = [sys.executable, "-m", "dsv4_doctor", "build", "--arch", options.arch]
    argv += ["--cache", options.cache, "--format", "json", "--keep-work"]
    argv += ["--out", str(out), "--report", str(report), *more]
    if options.vllm:
        argv += ["--vllm", options.vllm, "--python", options.python]
        argv += ["--git-mirror", options.git_mirror] if options.git_mirror else []
    else:
        argv += ["--recipe", "smoke"]
    for only in options.only:
        argv += ["--only", only]
    environ = {**os.environ, f"{options.cache.upper()}_DIR": str(place / "cache")}
    started = time.monotonic()
    done = subprocess.run(argv, env=environ, stdout=subprocess.PIPE, text=True, check=True)
    wall = time.monotonic() - started
    artifacts = json.loads(done.stdout)["artifacts"]
    # Provenance tells when it was built.
    digests = {a["name"]: a["sha256"] for a in artifacts if not a["name"].endswith(".json")}
    content = json.loads((report / "build-report.json").read_text(encoding="utf-8"))
    return Run(wall, content, digests)


def main(arguments: list[str]) -> int:
    """Build three times and compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--vllm", help="tree of vLLM; by default the smoke recipe")
    parser.add_argument("--python", help="interpreter to build for")
    parser.add_argument("--git-mirror", help="as of build")
    parser.add_argument("--only", action="append", default=[], help="as of build; repeatable")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--cache", default="ccache", choices=["ccache", "sccache"])
    parser.add_argument("--place", type=Path, help="directory for caches and results")
    parser.add_argument("--most", type=float, default=5.0, help="percent")
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args(arguments)
    place = options.place or Path(tempfile.mkdtemp(prefix="bench-rebuild-"))
    cold = build(options, place, "cold", "--clean")
    warm = build(options, place, "warm", "--clean")
    nothing = build(options, place, "nothing")
    percent, step = 100 * warm.units / cold.units, 100 * warm.compile / cold.compile
    same = cold.digests == warm.digests == nothing.digests
    hits = (warm.report["cache"] or {}).get("hits")
    for name, run in (("cold", cold), ("warm", warm)):
        print(f"{name}: units {run.units:.2f} s, step {run.compile:.2f} s, all {run.wall:.2f} s")
    print(f"warm is {percent:.2f} % of cold in its units, {step:.1f} % in its step")
    print(f"cache: {hits} hits of {len(warm.report['units'])} units")
    print(f"nothing left to do: {nothing.wall:.2f} s")
    print(f"bytes: {'the same' if same else 'differ'}")
    if options.place is None:
        shutil.rmtree(place)
    good = percent <= options.most and nothing.wall <= options.seconds
    return 0 if good and same else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
