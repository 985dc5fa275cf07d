#!/usr/bin/env python3
"""Writes down which units a configured build has: what ``build --plan`` knows before a configure.

    scripts/count_units.py RELEASE BUILD_DIRECTORY HOW

BUILD_DIRECTORY has a ``build.ninja``: the directory ``build`` of a work directory that was kept
(``build --only COMPONENT --keep-work``), or setuptools' own below ``source/build``. HOW says what
was configured: architectures, toolkit, and what was left out.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from dsv4_build.ninja import parse_targets
from dsv4_doctor.process import run

FILE = Path(__file__).parents[1] / "build" / "dsv4_build" / "knowledge" / "units.json"


def main(arguments: list[str]) -> int:
    """Add the units of one build to the file."""
    if len(arguments) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    release, directory, how = arguments
    done = run(["ninja", "-C", directory, "-t", "targets", "all"], limit=60)
    units: dict[str, list[str]] = {}
    for unit in parse_targets(done.stdout).units:
        units.setdefault(unit.component, []).append(unit.source)
    if not units:
        print(f"{directory}: no units: {done.stderr.strip()}", file=sys.stderr)
        return 1
    content = json.loads(FILE.read_text(encoding="utf-8"))
    listed = {component: sorted(units[component]) for component in sorted(units)}
    content["releases"][release] = {"at": f"counted: {how}", "units": listed}
    content["releases"] = dict(sorted(content["releases"].items()))
    FILE.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
