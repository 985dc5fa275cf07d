#!/usr/bin/env python3
"""Writes snapshots of a made-up fleet with realistic drift, to try and to measure ``fleet`` on.

    scripts/make_fleet.py SNAPSHOT.json DIRECTORY [--hosts 10000] [--seed 1]

Every host is the given real machine with some facts changed: names and addresses on all, other
driver, kernel or toolkit versions, small BAR1, narrow links and missing headers on some.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
from pathlib import Path
from typing import Any

# Share of the hosts on which each kind of drift is found.
RARE = 0.01
COMMON = 0.1


def main() -> None:
    """Write the snapshots."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("snapshot", type=Path)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    good = json.loads(options.snapshot.read_text(encoding="utf-8"))
    chance = random.Random(options.seed)
    options.directory.mkdir(parents=True, exist_ok=True)
    for number in range(options.hosts):
        name = f"gpu{number + 1:05}"
        text = json.dumps(host(good, name, chance))
        (options.directory / f"{name}.json").write_text(text, encoding="utf-8")


def host(good: dict[str, Any], name: str, chance: random.Random) -> dict[str, Any]:
    """Return one host of the fleet."""
    made = copy.deepcopy(good)
    made["host"]["hostname"] = name
    # What differs on every real machine at every moment.
    made["host"]["memory_available"] -= chance.randrange(1 << 34)
    for run in made["probes"]:
        run["seconds"] = round(chance.uniform(0.001, 0.2), 4)
    drift(made, chance)
    return made


def drift(made: dict[str, Any], chance: random.Random) -> None:
    """Change some facts of one host."""
    if chance.random() < COMMON:
        made["host"]["kernel"] = "6.8.0-48-generic"
    if chance.random() < COMMON:
        made["driver"]["nvml"] = made["driver"]["kernel_module"] = "570.86.15"
    if chance.random() < RARE:
        made["driver"]["nvml"] = "580.95.05"
    if chance.random() < RARE:
        made["python"]["headers"] = None
    kits = made["toolkits"]["found"]
    for things, fact, value in (
        (made["gpus"], "bar1", 256 << 20),
        (made["pci"], "link_width", 8),
        (kits, "header_version", "12.9"),
    ):
        for thing in things or ():
            if chance.random() < RARE:
                thing[fact] = value


if __name__ == "__main__":
    main()
