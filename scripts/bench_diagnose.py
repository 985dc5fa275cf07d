#!/usr/bin/env python3
"""Measures `dsv4-doctor diagnose -` over a large log from a pipe: wall time, CPU time, peak memory.

    scripts/bench_diagnose.py [--mebibytes 1024] [--storm]

The log is made here, in the layout of real ones: pip, CMake and ninja lines through docker buildx,
compiler warnings, a server's lines, and one cause in the middle. ``--storm`` makes one of errors
only, the worst that a log can be. The same bytes go through `grep -cE` with the same literals in
the same run, for a ratio that does not depend on the machine.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.knowledge.signature import signatures

if TYPE_CHECKING:
    from collections.abc import Sequence

_SEED = 20261129
_PIECE = 8 << 20

# Every twelfth line or so is a request with an id and words of its own, as servers log them.
_WORDS = [
    "".join(random.Random(seed).choices("etaoinshrdlucmfwypvbgkjqxz", k=3 + seed % 7))
    for seed in range(4000)
]
_TEMPLATE = """\
{second} [{unit}/900] Building CUDA object CMakeFiles/_C.dir/csrc/k{unit}.cu.o
{second} /src/csrc/k{unit}.cu(31): warning #177-D: variable "x" was declared but never referenced
{second}       float x = {unit};
{second}             ^
{second} Remark: The warnings can be suppressed with "-diag-suppress <warning-number>"
{second} ptxas info    : Compiling entry function '_Z9kernel{unit}PfS_i' for 'sm_90a'
{second} ptxas info    : Used 168 registers, used 1 barriers, 432 bytes cmem[0]
{second} In file included from /src/.deps/cutlass-src/include/cutlass/gemm/k{unit}.h:48,
(EngineCore_DP0 pid=77) INFO 03-01 10:00:00 [loggers.py:118] Engine 000: Avg prompt throughput: \
{unit}.0 tokens/s, Running: 3 reqs, GPU KV cache usage: 1.2%
(APIServer pid=1) INFO:     10.1.2.{unit}:4242 - "POST /v1/chat HTTP/1.1" 200 OK
(APIServer pid=1) INFO 03-01 10:00:00 [logger.py:39] Received request chatcmpl-{request}: {words}
Requirement already satisfied: package-{unit} in /venv/lib/python3.12 (from vllm) (1.{unit})"""


def realistic(generator: random.Random, size: int) -> bytes:
    """Return log lines of about this many bytes, without an error."""
    lines: list[str] = []
    total = 0
    while total < size:
        unit = generator.randrange(1, 900)
        second = f"#14 {generator.uniform(1, 4000):.2f}"
        request = f"{generator.getrandbits(128):032x}"
        words = " ".join(generator.choice(_WORDS) for _ in range(12))
        lines.append(_TEMPLATE.format(unit=unit, second=second, request=request, words=words))
        if not unit % 29:
            lines.append(f"{second} -- Performing Test CXX_HAS_{unit} - Failed")
            lines.append(f"{second} /src/a.h:9: note: 'will be an error in a future release'")
        total += sum(map(len, lines[-3:]))
    return ("\n".join(lines) + "\n").encode()


def storm(generator: random.Random, size: int) -> bytes:
    """Return nothing but errors, of many kinds."""
    texts = [example.text for each in signatures() for example in each.examples]
    lines: list[str] = []
    total = 0
    while total < size:
        text = generator.choice(texts)
        lines.append(text)
        total += len(text) + 1
    return ("\n".join(lines) + "\n").encode()


def run(argv: Sequence[str], piece: bytes, cause: bytes, times: int) -> tuple[float, float, float]:
    """Feed a program the piece many times; return wall and CPU seconds, and peak MiB."""
    started = time.monotonic()
    # Not /dev/null: grep stops at the first match when nobody reads what it prints.
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen(list(argv), stdin=subprocess.PIPE, stdout=output)

        def feed() -> None:
            if child.stdin is None:
                return
            for turn in range(times):
                child.stdin.write(piece)
                if turn == times // 2:
                    child.stdin.write(cause)
            child.stdin.close()

        feeder = threading.Thread(target=feed)
        feeder.start()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        feeder.join()
    seconds = time.monotonic() - started
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main(arguments: Sequence[str]) -> int:
    """Print the measurements; the exit status is 0."""
    parser = argparse.ArgumentParser(description="diagnose over a large log from a pipe")
    parser.add_argument("--mebibytes", type=int, default=1024)
    parser.add_argument("--storm", action="store_true")
    options = parser.parse_args(arguments)
    generator = random.Random(_SEED)
    piece = (storm if options.storm else realistic)(generator, _PIECE)
    times = max(options.mebibytes * (1 << 20) // len(piece), 1)
    cause = b"/usr/include/cuda/crt/host_config.h:143:2: error: #error -- unsupported GNU version! "
    cause += b"gcc versions later than 13 are not supported!\nninja: build stopped.\n"
    literals = sorted({each for one in signatures() if not one.at_end for each in one.literals})
    pattern = "|".join(
        "".join(f"\\{c}" if c in ".[]()*+?{}|^$\\" else c for c in literal) for literal in literals
    )
    doctor = [str(Path(sys.executable).parent / "dsv4-doctor"), "diagnose", "-", "--format", "json"]
    total = len(piece) * times / 1e9
    wall, cpu, peak = run(doctor, piece, cause, times)
    print(
        f"diagnose: {total:.2f} GB in {wall:.1f} s ({total / wall * 1e3:.0f} MB/s), "
        f"{cpu:.1f} s of CPU, peak {peak:.0f} MiB"
    )
    other, other_cpu, _ = run(["grep", "-cE", "-e", pattern], piece, cause, times)
    print(f"grep -cE of the same {len(literals)} literals: {other:.1f} s, {other_cpu:.1f} s of CPU")
    print(f"ratio of CPU time: {cpu / other_cpu:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
