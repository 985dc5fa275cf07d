#!/usr/bin/env python3
"""Reads what vLLM releases need from their own source trees.

    scripts/extract_release.py vllm-0.24.0.tar.gz            prints all that is read
    scripts/extract_release.py --write vllm-0.24.0.tar.gz    writes knowledge/releases/0.24.0.json
    scripts/extract_release.py --check vllm-0.24.0.tar.gz    fails when that file says otherwise

Takes sdists and checkouts; nothing of them is run. What could not be read is said on stderr.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.errors import DoctorError, InputError
from dsv4_doctor.files import write_atomically
from dsv4_doctor.knowledge.extract import tables, writing
from dsv4_doctor.knowledge.extract.facts import at
from dsv4_doctor.knowledge.extract.release import Extracted, extract_tree
from dsv4_doctor.knowledge.extract.tree import open_tree
from dsv4_doctor.knowledge.packed import pack

if TYPE_CHECKING:
    from dsv4_doctor.knowledge.extract.facts import Json
    from dsv4_doctor.knowledge.extract.tree import SourceTree

RELEASES = Path(__file__).parents[1] / "doctor" / "dsv4_doctor" / "knowledge" / "releases"


def main() -> int:
    """Extract every tree named on the command line; 1 when one differs or cannot be read."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tree", nargs="+", type=Path, help="an sdist or a checkout of vLLM")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--write", action="store_true", help="write the release's knowledge file")
    action.add_argument("--check", action="store_true", help="compare with the committed file")
    arguments = parser.parse_args()
    done = [_one(each, write=arguments.write, check=arguments.check) for each in arguments.tree]
    return 0 if all(done) else 1


def _one(tree: Path, *, write: bool, check: bool) -> bool:
    try:
        return _handle(tree, write=write, check=check)
    except DoctorError as error:
        sys.stderr.write(f"error: {error}\n" + (f"  {error.hint}\n" if error.hint else ""))
        return False


def _handle(tree: Path, *, write: bool, check: bool) -> bool:
    started = time.monotonic()
    source = open_tree(tree)
    found = extract_tree(source)
    everything = found.data if write or check else {**found.data, "tables": _tables(source)}
    seconds = time.monotonic() - started
    name = found.data["release"]
    sys.stderr.write(f"{tree}: vLLM {name} in {seconds:.1f} s\n")
    for gap in found.not_established:
        sys.stderr.write(f"  not established: {gap}\n")
    text = writing.render_rows(pack(found.data))
    place = RELEASES / f"{name}.json"
    if check:
        same = place.is_file() and place.read_text(encoding="utf-8") == text
        sys.stderr.write(f"  {place.name}: {'the same' if same else 'DIFFERS'}\n")
        return same
    if write:
        _require_release(tree, found)
        write_atomically(place, text.encode())
    else:
        sys.stdout.write(json.dumps(everything, indent=2, ensure_ascii=False) + "\n")
    return True


def _tables(tree: SourceTree) -> Json:
    """What the tables over releases would say of the tree, without one that cannot be read."""
    found: Json = {}
    for name, read in tables.TABLES.items():
        try:
            said = read(tree)
        except InputError as error:
            sys.stderr.write(f"  not established: {error}\n")
            continue
        found[name] = {
            each: {**says, "at": at(file, line)} for each, (says, file, line) in said.items()
        }
    return found


def _require_release(tree: Path, found: Extracted) -> None:
    if not found.data["sdist_sha256"]:
        msg = f"{tree}: a knowledge file is written from a release's sdist only"
        raise InputError(msg)


if __name__ == "__main__":
    sys.exit(main())
