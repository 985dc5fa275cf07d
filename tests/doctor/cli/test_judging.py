"""What is loaded while the probes run, and what after them."""

from __future__ import annotations

import json
import subprocess
import sys

from dsv4_doctor.checks.registry import MODULES

_PROGRAM = """
import json, sys
from dsv4_doctor.cli import judging

taken = []
start = judging.start_facts

def started(asked):
    finish = start(asked)
    def wait():
        snapshot = finish()
        taken.append(set(sys.modules))
        return snapshot
    return wait

judging.start_facts = started
judging.prepare(judging.Asked(archs=("sm_90",)))(())
print(json.dumps(sorted(taken[0])))
"""


def test_the_checks_are_loaded_while_the_probes_run() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True
    )
    loaded = json.loads(done.stdout)
    assert {f"dsv4_doctor.checks.{module}" for module in MODULES} <= set(loaded)
