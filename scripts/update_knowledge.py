#!/usr/bin/env python3
"""Brings vLLM releases into the knowledge: their file, the flags' history, and what changed.

    scripts/update_knowledge.py vllm-0.34.0.tar.gz [...]
    scripts/update_knowledge.py --tables DIR/vllm-*.tar.gz    only flags.json and variables.json

Takes the releases' source distributions and runs nothing of them. Writes nothing when one of them
cannot be read, or when something in one could not be established: docs/knowledge.md says what
to do then. Prints what changed against the known release before each.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.version import Version

from dsv4_doctor.errors import DoctorError, InputError
from dsv4_doctor.files import write_atomically
from dsv4_doctor.formats import console, releases_text
from dsv4_doctor.knowledge import load, parse
from dsv4_doctor.knowledge.extract import tables, writing
from dsv4_doctor.knowledge.extract.release import extract
from dsv4_doctor.knowledge.extract.tree import open_tree
from dsv4_doctor.releases.compare import side

if TYPE_CHECKING:
    from dsv4_doctor.knowledge.extract.facts import Json

NO_SDIST = "{}: a knowledge file is written from a release's source distribution only"
KNOWLEDGE = Path(__file__).parents[1] / "doctor" / "dsv4_doctor" / "knowledge"


def main() -> int:
    """Read every sdist, then write everything; 1 when one cannot be used."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sdist", nargs="+", type=Path, help="source distribution of a release")
    parser.add_argument(
        "--incomplete", action="store_true", help="write what has gaps, too, to look at it"
    )
    parser.add_argument("--tables", action="store_true", help="write the tables over releases only")
    arguments = parser.parse_args()
    try:
        whole = [] if arguments.tables else arguments.sdist
        found = [_read(each, incomplete=arguments.incomplete) for each in whole]
        written = _tables(arguments.sdist)
    except DoctorError as error:
        sys.stderr.write(f"error: {error}\n" + (f"  {error.hint}\n" if error.hint else ""))
        return 1
    for data in found:
        place = KNOWLEDGE / "releases" / f"{data['release']}.json"
        write_atomically(place, writing.render(data).encode())
    for name, table in written.items():
        write_atomically(KNOWLEDGE / f"{name}.json", writing.render(table).encode())
    for data in found:
        _print_changes(data)
    return 0


def _tables(sdists: list[Path]) -> dict[str, Json]:
    """The tables over releases with these in them."""
    found: dict[str, Json] = {}
    for name in tables.TABLES:
        file = KNOWLEDGE / f"{name}.json"
        if file.is_file():
            found[name] = json.loads(file.read_text(encoding="utf-8"))
    for path in sdists:
        tree = open_tree(path)
        if not tree.sha256:
            raise InputError(NO_SDIST.format(path))
        for name in tables.TABLES:
            found[name] = tables.updated(found.get(name), name, tree)
    return found


def _read(path: Path, *, incomplete: bool) -> Json:
    found = extract(path)
    if not found.data["sdist_sha256"]:
        raise InputError(NO_SDIST.format(path))
    if found.not_established and not incomplete:
        msg = f"{path}: not everything could be established"
        raise InputError(msg, hint="\n  ".join(found.not_established))
    return found.data


def _print_changes(data: Json) -> None:
    new = parse.release(data)
    older = [name for name in load.release_names() if Version(name) < new.version]
    if older:
        releases_text.difference(side(load.release(older[0])), side(new), (), console.stdout())


if __name__ == "__main__":
    sys.exit(main())
