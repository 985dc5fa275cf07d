#!/usr/bin/env python3
"""The compile engine on machines that are not here: makespans against the bound and fixed jobs.

    scripts/simulate_schedule.py [--noise 0.2] [--seed 1] [--costs costs.json] [CORES/GB ...]

Runs the policy of the real server over the units of vLLM 0.20.2 (build/dsv4_build/knowledge/
compile_costs.json, with units of a family that were not measured at the family's cost), or over
what a build on this machine learned (--costs schedule-costs.json). Each unit deviates at random
from what is expected of it: its time by --noise (standard deviation of its logarithm), its peak
and its phases by half of that.

For each machine: seconds of ours; the bound max(longest unit, CPU / cores), that no schedule can
beat; the bound that memory sets (bytes times seconds, over the memory), and what ninja -j N takes
with the largest N that stays within the memory. Exit status 1 when ours goes over the memory.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

from dsv4_build.schedule import costs, learned, simulation
from dsv4_build.schedule.window import window

GB = 10**9

# Units of vLLM 0.20.2 for sm_90 by family, FlashMLA and DeepGEMM left out.
UNITS = {
    "fa3": 194,
    "fa2": 55,
    "marlin": 18,
    "marlin-moe": 15,
    "other": 37,
    "machete-impl": 8,
    "machete": 3,
    "cutlass": 12,
    "moe": 12,
    "paged-attention": 2,
}

MACHINES = (
    *("2/16", "4/16", "8/32", "16/32", "16/64", "16/512", "32/32", "32/64", "32/128"),
    *("64/128", "64/256", "128/256", "128/512"),
)


def units() -> list[costs.Cost]:
    """Return the units of vLLM 0.20.2, in the order in which they are listed."""
    known = costs.knowledge()
    families = {family.name: family for family in known.families}
    found = [
        cost
        for name, cost in known.units.items()
        if not name.startswith(("_C_stable_libtorch:csrc/libtorch_stable/attention/", "_moe_C_s"))
    ]
    for name, count in UNITS.items():
        missing = count - sum(cost.family == name for cost in found)
        found += [families[name].cost()] * max(missing, 0)
    return found


def learned_units(path: Path) -> list[costs.Cost]:
    """Return the units that a build learned."""
    known = learned.load(path)
    names = sorted(known.units)
    found = [known.cost(name, "learned") for name in names]
    return [cost for cost in found if cost is not None]


def row(found: list[costs.Cost], machine: str, options: argparse.Namespace) -> bool:
    """Print the row of a machine and return whether its memory was enough for ours."""
    cores, _, size = machine.partition("/")
    memory = int(float(size) * GB)
    rng = random.Random(options.seed)
    truths = [
        simulation.deviating(cost.expectation(), rng, options.noise)
        for cost in found
        if cost.peak * 1.25 <= memory
    ]
    here = simulation.Machine(int(cores), memory, window(int(cores), memory))
    ours = simulation.simulate(truths, here)
    least = simulation.bound(truths, here.cores)
    area = sum(unit.seconds * unit.peak * mean(unit.curve.levels) for unit in truths) / memory
    fixed = simulation.best_static(truths, here)
    jobs, seconds = (str(fixed[0]), fixed[1].seconds) if fixed is not None else ("-", float("nan"))
    print(
        f"{cores:>5} {size:>6} {len(truths):>6} {ours.seconds:>8.0f} {least:>8.0f}"
        f" {ours.seconds / least:>6.2f} {area:>8.0f} {ours.peak / GB:>7.1f} {ours.over:>5}"
        f" {ours.evicted:>7} {jobs:>4} {seconds:>8.0f} {seconds / ours.seconds:>6.2f}",
        flush=True,
    )
    return not ours.over


def mean(levels: tuple[float, ...]) -> float:
    """Return the mean of a curve."""
    return sum(levels) / len(levels)


def main() -> int:
    """Simulate what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("machines", nargs="*", default=MACHINES, metavar="CORES/GB")
    parser.add_argument("--noise", type=float, default=0.2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--costs", type=Path, help="schedule-costs.json of a build")
    options = parser.parse_args()
    found = learned_units(options.costs) if options.costs else units()
    total = sum(cost.seconds for cost in found)
    print(f"{len(found)} units, {total:.0f} s of CPU, noise {options.noise}, seed {options.seed}")
    print(
        "cores     GB  units     ours    bound  ratio  area      peak  over evicted   -j   "
        "static  times"
    )
    within = [row(found, machine, options) for machine in options.machines]
    return int(not all(within))


if __name__ == "__main__":
    sys.exit(main())
