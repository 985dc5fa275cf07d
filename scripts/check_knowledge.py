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
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import sdists
from dsv4_doctor.errors import EXIT_FAILED, EXIT_OK, EXIT_UNKNOWN, DoctorError, InputError
from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.extract import tables, writing
from dsv4_doctor.knowledge.extract.release import extract_tree
from dsv4_doctor.knowledge.extract.tree import open_tree
from dsv4_doctor.knowledge.history import LISTS, recorded
from dsv4_doctor.knowledge.packed import pack

if TYPE_CHECKING:
    from dsv4_doctor.knowledge.extract.histories import Said
    from dsv4_doctor.knowledge.history import Recorded

KNOWLEDGE = Path(load.__file__).parent
RELEASES = KNOWLEDGE / "releases"


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
    tree = open_tree(sdist)
    found = []
    file = RELEASES / f"{name}.json"
    if writing.render_rows(pack(extract_tree(tree).data)) != file.read_text(encoding="utf-8"):
        found.append(f"{file.name} is not what is read in its sdist")
    for table, read in tables.TABLES.items():
        try:
            names = _of_table(table, name, read(tree))
        except InputError as error:
            names = [str(error)]
        found += [f"{table}.json: {each}" for each in names]
    return found


def _of_table(table: str, release: str, said: dict[str, Said]) -> list[str]:
    """The names of which a table says something else than the tree."""
    data = json.loads((KNOWLEDGE / f"{table}.json").read_text(encoding="utf-8"))
    committed = recorded(data, table)
    read = recorded(tables.updated(None, table, {release: said}), table)
    return [
        name
        for name in sorted({*committed, *read})
        if _state(committed.get(name), release) != _state(read.get(name), release)
    ]


def _state(entry: Recorded | None, release: str) -> object:
    says = entry.says(release) if entry is not None else None
    if entry is None or says is None:
        return None
    # The order of a list of names is not kept.
    plain = {key: sorted(each) if key in LISTS else each for key, each in says.items()}
    return json.dumps(plain, sort_keys=True), entry.place_in(release)


if __name__ == "__main__":
    sys.exit(main())
