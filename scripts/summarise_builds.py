#!/usr/bin/env python3
"""Says in a few lines what the builds of scripts/build_real_on_gpu took and proved.

    scripts/summarise_builds.py DIRECTORY

Reads NAME.json, the result of ``dsv4-doctor build --format json``, and NAME.memory.csv.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


def lines(name: str, built: dict[str, Any], memory: list[list[str]]) -> Iterator[str]:
    """Yield what one build took and what is proved."""
    yield f"{name}: {len(built['artifacts'])} files"
    for step, used in built["usage"].items():
        for each in used:
            yield (
                f"  {step}: {each['seconds']:.1f} s, {each['cpu_seconds']:.1f} s of CPU, "
                f"largest process {each['peak_memory'] / 1e9:.2f} GB"
            )
    if memory:
        peak = max(memory, key=lambda row: float(row[1]))
        yield f"  memory: at most {peak[1]} GiB used, {peak[0]} s after the start"
    for each in built["proof"]["decisions"]:
        yield f"  {each['requirement']}: {each['status']}, {each['reason']}"
    for each in built["gpu_test"]:
        yield (
            f"  ran {each['name']}: error {each['error']:.2e}, {each['tolerance']:.2e} allowed, "
            f"{each['seconds']:.2f} s"
        )


def main() -> int:
    """Print every build of a directory."""
    for file in sorted(Path(sys.argv[1]).glob("*.json")):
        text = file.read_text(encoding="utf-8")
        if not text.strip():
            print(f"{file.stem}: gave no result")
            continue
        table = file.with_suffix(".memory.csv")
        rows = list(csv.reader(table.open(encoding="utf-8"))) if table.is_file() else []
        print("\n".join(lines(file.stem, json.loads(text), rows)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
