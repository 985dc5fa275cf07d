#!/usr/bin/env python3
"""Runs `dsv4-doctor watch` against this machine's real NVML, and a server that is none.

    scripts/check_watch_on_gpu.py [-- COMMAND …]

Needs a GPU and prometheus-client. COMMAND is run meanwhile, such as one that keeps the GPU busy.
Prints what one look says and what the exporter serves; the exit status is 1 when a signal that NVML
must give is not among them.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import ExitStack
from urllib.request import urlopen

from fake_vllm_server import FakeVllm

# What every data-centre GPU tells.
SIGNALS = ("gpu_utilization", "gpu_memory", "gpu_throttled", "gpu_link_narrow", "gpu_lost")
LIMIT = 60


def look(url: str) -> dict[str, object]:
    """Return what one look says."""
    command = [sys.executable, "-m", "dsv4_doctor", "watch", url, "--once", "--interval", "2"]
    done = subprocess.run(
        [*command, "--format", "json"], capture_output=True, text=True, check=False, timeout=LIMIT
    )
    if not done.stdout:
        raise SystemExit(done.stderr)
    document: dict[str, object] = json.loads(done.stdout)
    return document


def exported(url: str) -> list[str]:
    """Return the lines that the exporter serves for Prometheus."""
    command = [sys.executable, "-m", "dsv4_doctor", "watch", url, "--interval", "1"]
    with subprocess.Popen(
        [*command, "--format", "json", "--export", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        try:
            said = child.stderr.readline() if child.stderr else ""
            for _ in range(2):
                if child.stdout:
                    child.stdout.readline()
            port = re.search(r"port (\d+)", said)
            if port is None:
                raise SystemExit(said)
            with urlopen(f"http://127.0.0.1:{port[1]}/metrics", timeout=10) as answer:
                text: str = answer.read().decode()
        finally:
            child.terminate()
    return [line for line in text.splitlines() if line.startswith("dsv4_watch_")]


def main(arguments: list[str]) -> int:
    """Look, export, and say what is missing."""
    beside = arguments[1:] if arguments[:1] == ["--"] else []
    with ExitStack() as stack:
        if beside:
            stack.callback(stack.enter_context(subprocess.Popen(beside)).terminate)
        fake = stack.enter_context(FakeVllm())
        document = look(fake.url)
        lines = exported(fake.url)
    print(json.dumps(document, indent=2))
    print("\n".join(lines))
    signals = document["signals"]
    missing = [name for name in SIGNALS if name not in str(signals)]
    missing += [name for name in SIGNALS if f"dsv4_watch_{name}{{" not in "\n".join(lines)]
    print(f"missing: {', '.join(missing) or 'nothing'}", file=sys.stderr)
    return 1 if missing or not document["gpus"] else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
