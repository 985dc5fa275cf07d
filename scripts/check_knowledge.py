#!/usr/bin/env python3
"""Holds the committed knowledge against what the extractor reads in the releases' own sdists.

    scripts/check_knowledge.py                  the newest known release and the default one
    scripts/check_knowledge.py 0.7.2 0.20.2     these
    scripts/check_knowledge.py --all            every known release

Downloads each source distribution from the package index that pip is configured with, by the
SHA-256 that the knowledge carries, and runs nothing of it. Exit status: 0 when all are the same,
1 when one differs, 3 when none does but one could not be had, so that nothing is known of it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import sdists
from dsv4_doctor.errors import EXIT_FAILED, EXIT_OK, EXIT_UNKNOWN, DoctorError
from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.extract import writing
from dsv4_doctor.knowledge.extract.flags import flags
from dsv4_doctor.knowledge.extract.release import extract
from dsv4_doctor.knowledge.extract.tree import open_tree

RELEASES = Path(load.__file__).parent / "releases"


def main() -> int:
    """Check every release that is named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("release", nargs="*", help="a known release")
    parser.add_argument("--all", action="store_true", help="every known release")
    parser.add_argument("--sdists", type=Path, help="a directory that has them, or will keep them")
    arguments = parser.parse_args()
    named = load.release_names() if arguments.all else arguments.release
    with tempfile.TemporaryDirectory() as temporary:
        directory = arguments.sdists or Path(temporary)
        results = [_one(each, directory) for each in named or _usual()]
    return max(results, key=(EXIT_OK, EXIT_UNKNOWN, EXIT_FAILED).index)


def _usual() -> list[str]:
    """The newest release and the one that a report is about when nobody names one."""
    return list(dict.fromkeys([load.release_names()[0], load.default_release().name]))


def _one(name: str, directory: Path) -> int:
    try:
        committed = load.release(name)
        sdist = sdists.fetch(committed.name, directory, committed.sdist_sha256)
        differences = _differences(committed.name, sdist)
    except DoctorError as error:
        sys.stderr.write(f"{name}: NOT CHECKED: {error}\n")
        if error.hint:
            sys.stderr.write(f"  {error.hint}\n")
        return EXIT_UNKNOWN
    for each in differences:
        sys.stderr.write(f"{name}: DIFFERS: {each}\n")
    if not differences:
        sys.stderr.write(f"{name}: the same\n")
    return EXIT_FAILED if differences else EXIT_OK


def _differences(name: str, sdist: Path) -> list[str]:
    found = []
    file = RELEASES / f"{name}.json"
    if writing.render(extract(sdist).data) != file.read_text(encoding="utf-8"):
        found.append(f"{file.name} is not what is read in its sdist")
    declared = set(flags(open_tree(sdist)))
    known = {flag for flag, each in load.flags().items() if each.within(name)}
    found += [f"flags.json: {flag}" for flag in sorted(declared ^ known)]
    return found


if __name__ == "__main__":
    sys.exit(main())
