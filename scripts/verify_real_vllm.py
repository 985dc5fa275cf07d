#!/usr/bin/env python3
"""Compiles real units of vLLM twice under other circumstances and compares the objects.

    scripts/verify_real_vllm.py vllm-0.24.0.tar.gz PYTHON [--git-mirror DIR] [--only UNIT ...]

PYTHON is the interpreter of an environment with the torch that the release pins. The default units
take about a minute of CPU together, for each of the two builds; configuring vLLM another one. What
`dsv4-doctor build` needs besides (a toolkit, external projects) it takes as always. Exit status 0
when every object is the same.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

# Short ones of 0.24.0, of several kinds: with CUTLASS, with the stable ABI of torch, and
# plain C++ with the headers of torch, whose macros store their own paths.
UNITS = (
    "quantization/w8a8/cutlass/moe/moe_data.cu",
    "quantization/w8a8/cutlass/scaled_mm_entry.cu",
    "cutlass_w4a8/w4a8_utils.cu",
    "_moe_C_stable_libtorch:csrc/libtorch_stable/moe/torch_bindings.cpp",
)


def main() -> int:
    """Build twice and print what came of it."""
    options = _options()
    with tempfile.TemporaryDirectory() as out:
        argv = [
            *(sys.executable, "-m", "dsv4_doctor", "build", "--vllm", options.sdist),
            *("--python", options.python, "--arch", options.arch, "--out", out),
            *(part for unit in options.only or UNITS for part in ("--only", unit)),
            *("--toolchain", options.toolchain, "--verify-reproducible", "--format", "json"),
            *(("--git-mirror", options.git_mirror) if options.git_mirror else ()),
            *(("--jobs", str(options.jobs)) if options.jobs else ()),
        ]
        started, before = time.monotonic(), os.times()
        done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=False)
        seconds, after = time.monotonic() - started, os.times()
    if not done.stdout:
        return done.returncode
    verdict = json.loads(done.stdout)
    cpu = sum(after[2:4]) - sum(before[2:4])
    print(f"{seconds:.0f} s, {cpu:.0f} s of CPU for both; paths: {verdict['paths']}")
    for each in verdict["variations"]:
        told = f"{each['first']} | {each['second']}" if each["varied"] else "not varied"
        print(f"{each['name']:<10}{told}  {each['note']}".rstrip())
    for each in verdict["files"]:
        print(f"{'same' if each['same'] else 'DIFFERS':<10}{each['name']} {each['first'][:16]}")
    for each in verdict["differences"]:
        print(json.dumps(each, indent=2))
    return done.returncode


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("sdist")
    parser.add_argument("python")
    parser.add_argument("--git-mirror", default="")
    parser.add_argument("--only", action="append")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--toolchain", default="auto")
    parser.add_argument("--jobs", type=int)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
