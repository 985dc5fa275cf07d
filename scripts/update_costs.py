#!/usr/bin/env python3
"""Put measured costs of units into the knowledge, and work out its families anew.

    scripts/update_costs.py --measured "who, where, with what" [--scale 1.0] FILE...

A FILE is schedule-costs.json of a build, costs of this machine from the cache, or what
scripts/measure_costs.py wrote. A unit's newest record replaces the older one. --scale is how many
times longer units take on the machine that the knowledge's seconds are of, the H200 host. Families
get the means of their units, and the mean of the curves that were measured. Whose family a unit is
follows from the patterns: to split one whose units differ, put a pattern before it and call this
without a FILE.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
from pathlib import Path
from typing import Any

from dsv4_build.schedule.costs import name_of
from dsv4_build.schedule.curve import Curve, merged

FILE = Path(__file__).parents[1] / "build/dsv4_build/knowledge/compile_costs.json"

# Families whose units of one release are alike; the spread of the others is their own.
LEAST_SPREAD = 0.1


def read(path: Path) -> dict[str, dict[str, Any]]:
    """Return the records of a file by the object or the name of their unit."""
    data = json.loads(path.read_text(encoding="utf-8"))
    if isinstance(data, dict):
        return dict(data["units"])
    return {record["object"]: record for record in data}


def add(units: dict[str, Any], found: dict[str, Any], scale: float) -> None:
    """Put records into the units of the knowledge."""
    for key, record in found.items():
        units[name_of(key)] = {
            "family": "",
            "seconds": round(record["seconds"] * scale, 1),
            "peak": record["peak"],
            "curve": record["curve"],
        }


def sort_into(families: dict[str, Any], units: dict[str, Any]) -> None:
    """Give every unit the first family that its object matches."""
    patterns = {name: re.compile(each["pattern"]) for name, each in families.items()}
    for name, unit in units.items():
        path = object_of(name)
        unit["family"] = next(each for each, found in patterns.items() if found.search(path))


def object_of(key: str) -> str:
    """Return the object of a unit that is known by its name."""
    component, colon, source = key.partition(":")
    return f"CMakeFiles/{component}.dir/{source}.o" if colon else key


def family(record: dict[str, Any], units: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a family with the means of its units."""
    if not units:
        return record
    peaks = [unit["peak"] for unit in units]
    curves = [Curve.from_json(unit["curve"]) for unit in units if "curve" in unit]
    spread = statistics.pstdev(peaks) / statistics.mean(peaks)
    result = {
        **record,
        "units": len(units),
        "seconds": round(statistics.mean(unit["seconds"] for unit in units), 1),
        "peak": int(statistics.mean(peaks)),
        "spread": round(max(spread, LEAST_SPREAD), 2),
        "curve_units": len(curves),
    }
    if curves:
        result["curve"] = merged(curves).to_json()
    return result


def render(data: dict[str, Any]) -> str:
    """Return the file with one unit a line, so that a change of one is a change of one line."""
    parts = []
    for key, value in data.items():
        if isinstance(value, dict):
            rows = (f"  {json.dumps(name)}: {json.dumps(each)}" for name, each in value.items())
            parts.append(f" {json.dumps(key)}: {{\n" + ",\n".join(rows) + "\n }")
        else:
            parts.append(f" {json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main() -> int:
    """Update the knowledge."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--measured", help="who measured the files, where, with what")
    parser.add_argument("--scale", type=float, default=1.0)
    options = parser.parse_args()
    if options.files and not options.measured:
        parser.error("--measured has to say where the files are from")
    data = json.loads(FILE.read_text(encoding="utf-8"))
    units = dict(data["units"])
    for path in options.files:
        add(units, read(path), options.scale)
    if options.files:
        data["source"] = f"{data['source']}; {options.measured}"
    data["units"] = dict(sorted(units.items()))
    sort_into(data["families"], data["units"])
    for name, record in data["families"].items():
        data["families"][name] = family(
            record, [unit for unit in units.values() if unit["family"] == name]
        )
    FILE.write_text(render(data), encoding="utf-8")
    print(f"{len(units)} units in {FILE}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
