#!/usr/bin/env python3
"""Runs the kernels of a smoke wheel on this machine's GPU against a plain reference.

    scripts/check_smoke_on_gpu.py dist/dsv4_smoke-*.whl

The same as ``dsv4-doctor build --recipe smoke --gpu-test`` does, for a wheel that was built on
another machine. Needs a Hopper GPU. Exit status 0 when all agree with the reference.
"""

from __future__ import annotations

import sys
import tempfile
import zipfile
from pathlib import Path

from dsv4_build.recipe import embedded_recipe
from dsv4_build.trial import gpu
from dsv4_build.trial.run import Module, Spec, run_child


def main() -> int:
    """Print one line a kernel."""
    features = embedded_recipe("smoke").features
    cases = gpu.cases_of("smoke", tuple(features.values()))
    with tempfile.TemporaryDirectory() as place:
        with zipfile.ZipFile(sys.argv[1]) as wheel:
            wheel.extractall(place)
        modules = tuple(
            Module(each.component, str(Path(place, each.file))) for each in features.values()
        )
        outcomes = run_child(sys.executable, Spec(modules, cases), limit=gpu.LIMIT)
    problems = [gpu.failure(each) for each in outcomes]
    for each, problem in zip(outcomes, problems, strict=True):
        print(problem or f"{each.name}: " + (f"error {each.error:.1e}" if each.error else "loaded"))
    return int(any(problems))


if __name__ == "__main__":
    raise SystemExit(main())
