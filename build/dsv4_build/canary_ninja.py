"""Stands in the place of ninja: makes the canary in a configured tree, then becomes ninja.

    python -I -m dsv4_build.canary_ninja NINJA WORK [ARGUMENT ...]

``setup.py`` owns its build directory and configures and builds it in one go; between the two it
calls ninja. Nothing of it, or of its CMake, is changed.
"""

from __future__ import annotations

import os
import sys
from itertools import pairwise
from pathlib import Path

# What CMake builds to find out about a compiler.
_TRIALS = ("CMakeScratch", "CMakeTmp")
_NO_BUILD = ("-t", "-n", "-h", "--version", "--help")


def main(argv: list[str]) -> int:
    """Make the canary where there is something to build, and become ninja."""
    ninja, work, *arguments = argv
    build = directory_of(arguments)
    status = _first(ninja, Path(work), build, arguments) if is_build(arguments, build) else 0
    if not status:
        os.execv(ninja, [ninja, *arguments])  # noqa: S606 - it is the build tool
    return status


def directory_of(arguments: list[str]) -> Path:
    """Return the directory that ninja would build in."""
    places = [after for flag, after in pairwise(arguments) if flag == "-C"]
    return Path.cwd() / (places[-1] if places else ".")


def is_build(arguments: list[str], build: Path) -> bool:
    """Whether a call of ninja builds a tree that CMake has configured."""
    if any(each.startswith(_NO_BUILD) for each in arguments):
        return False
    if any(trial in build.parts for trial in _TRIALS):
        return False
    return (build / "build.ninja").is_file()


def jobs_of(arguments: list[str]) -> list[str]:
    """Return the arguments that say how much runs at a time."""
    for at, each in enumerate(arguments):
        if each in {"-j", "-l"}:
            return arguments[at : at + 2]
        if each.startswith("-j"):
            return [each]
    return []


def _first(ninja: str, work: Path, build: Path, arguments: list[str]) -> int:
    """Make the canary and return ninja's exit status."""
    # Not needed for the many calls that build nothing.
    from dsv4_build import canary  # noqa: PLC0415
    from dsv4_build.ninja import parse_targets  # noqa: PLC0415
    from dsv4_doctor.process import run  # noqa: PLC0415

    known = canary.read(work)
    if known is not None and not known.failed:
        return 0
    listed = run([ninja, "-C", str(build), "-t", "targets", "all"], limit=60)
    units = parse_targets(listed.stdout).units
    asked = [unit for unit in units if unit.component in arguments]
    objects = canary.choose(asked or units)
    if not objects:
        return 0
    sys.stdout.write(f"dsv4-doctor: {len(objects)} units, one of each family, come first\n")
    sys.stdout.flush()
    command = [ninja, "-C", str(build), *jobs_of(arguments), "-k", "0", *objects]
    status = os.spawnv(os.P_WAIT, ninja, command)  # noqa: S606 - it is the build tool
    canary.write(canary.outcome(objects, build), work)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
