#!/usr/bin/env python3
"""Brings vLLM releases into the knowledge: their file, the flags' history, and what changed.

    scripts/update_knowledge.py vllm-0.34.0.tar.gz [...]

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
from dsv4_doctor.knowledge.extract import flag_history, writing
from dsv4_doctor.knowledge.extract.flags import flags
from dsv4_doctor.knowledge.extract.release import extract
from dsv4_doctor.knowledge.extract.tree import open_tree

if TYPE_CHECKING:
    from dsv4_doctor.knowledge.extract.facts import Json

KNOWLEDGE = Path(__file__).parents[1] / "doctor" / "dsv4_doctor" / "knowledge"
FLAGS = KNOWLEDGE / "flags.json"


def main() -> int:
    """Read every sdist, then write everything; 1 when one cannot be used."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sdist", nargs="+", type=Path, help="source distribution of a release")
    parser.add_argument(
        "--incomplete", action="store_true", help="write what has gaps, too, to look at it"
    )
    arguments = parser.parse_args()
    try:
        found = [_read(each, incomplete=arguments.incomplete) for each in arguments.sdist]
    except DoctorError as error:
        sys.stderr.write(f"error: {error}\n" + (f"  {error.hint}\n" if error.hint else ""))
        return 1
    history = json.loads(FLAGS.read_text(encoding="utf-8")) if FLAGS.is_file() else None
    for path, data in zip(arguments.sdist, found, strict=True):
        name = data["release"]
        history = flag_history.add(history or flag_history.EMPTY, name, flags(open_tree(path)))
        write_atomically(KNOWLEDGE / "releases" / f"{name}.json", writing.render(data).encode())
        _print_changes(data)
    write_atomically(FLAGS, writing.render(history).encode())
    return 0


def _read(path: Path, *, incomplete: bool) -> Json:
    found = extract(path)
    if not found.data["sdist_sha256"]:
        msg = f"{path}: a knowledge file is written from a release's source distribution only"
        raise InputError(msg)
    if found.not_established and not incomplete:
        msg = f"{path}: not everything could be established"
        raise InputError(msg, hint="\n  ".join(found.not_established))
    return found.data


def _print_changes(data: Json) -> None:
    new = parse.release(data)
    older = [name for name in load.release_names() if Version(name) < new.version]
    if older:
        releases_text.difference(load.release(older[0]), new, console.stdout())


if __name__ == "__main__":
    sys.exit(main())
