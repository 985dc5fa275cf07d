#!/usr/bin/env python3
"""Brings vLLM releases into the knowledge: their file, the tables over releases, what changed.

    scripts/update_knowledge.py 0.34.0                    from the package index
    scripts/update_knowledge.py --new                     all that came after the newest known one
    scripts/update_knowledge.py vllm-0.34.0.tar.gz [...]
    scripts/update_knowledge.py --tables DIR/vllm-*.tar.gz    the tables only

Reads the releases' source distributions and runs nothing of them. Writes nothing when one of them
cannot be read, or when something in one could not be established: docs/knowledge.md says what
to do then. Prints what changed against the known release before each.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from dsv4_doctor.errors import DoctorError, InputError
from dsv4_doctor.files import write_atomically
from dsv4_doctor.formats import console, releases_text
from dsv4_doctor.knowledge import load, parse
from dsv4_doctor.knowledge.extract import tables, writing
from dsv4_doctor.knowledge.extract.release import extract_tree
from dsv4_doctor.knowledge.extract.tree import open_tree
from dsv4_doctor.knowledge.packed import pack
from dsv4_doctor.releases.compare import Side

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsv4_doctor.knowledge.extract.facts import Json
    from dsv4_doctor.knowledge.extract.histories import Said
    from dsv4_doctor.knowledge.extract.tree import SourceTree

KNOWLEDGE = Path(load.__file__).parent


def main() -> int:
    """Read every release, then write everything; 1 when one cannot be used."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("release", nargs="*", help="a release, or its source distribution")
    parser.add_argument("--new", action="store_true", help="every release newer than those known")
    parser.add_argument(
        "--incomplete", action="store_true", help="write what has gaps, too, to look at it"
    )
    parser.add_argument("--tables", action="store_true", help="write the tables over releases only")
    parser.add_argument(
        "--knowledge", type=Path, default=KNOWLEDGE, help="the directory to write into"
    )
    arguments = parser.parse_args()
    if arguments.new == bool(arguments.release):
        parser.error("name releases, or ask for the new ones with --new")
    try:
        with tempfile.TemporaryDirectory() as temporary:
            written = _update(
                [_sdist(each, Path(temporary)) for each in arguments.release or _new()],
                arguments.knowledge,
                incomplete=arguments.incomplete,
                releases=not arguments.tables,
            )
    except DoctorError as error:
        sys.stderr.write(f"error: {error}\n" + (f"  {error.hint}\n" if error.hint else ""))
        return 1
    for each in written:
        _print_changes(each)
    return 0


def _new() -> list[str]:
    """The releases of the index that came after the newest known one; none ends the program."""
    import sdists  # noqa: PLC0415

    newest = load.release_names()[0]
    found = sdists.newer_than(newest)
    sys.stderr.write(f"newer than {newest}: {', '.join(found) or 'none'}\n")
    if not found:
        sys.exit(0)
    return found


def _sdist(text: str, temporary: Path) -> Path:
    """What the command line names: a file, or else a release of the package index."""
    path = Path(text)
    if path.exists():
        return path
    # Only who asks the package index pays for its client.
    import sdists  # noqa: PLC0415

    try:
        return sdists.fetch(str(Version(text)), temporary)
    except InvalidVersion as error:
        msg = f"{text}: no such file, and no release"
        raise InputError(msg) from error


def _update(
    paths: Sequence[Path], knowledge: Path, *, incomplete: bool, releases: bool
) -> list[Json]:
    """Write what was read of all releases; nothing before all of them could be read."""
    found: list[Json] = []
    said: dict[str, dict[str, dict[str, Said]]] = {name: {} for name in tables.TABLES}
    for path in paths:
        tree = open_tree(path)
        if not tree.sha256:
            msg = f"{path}: a knowledge file is written from a release's source distribution only"
            raise InputError(msg)
        if releases:
            found.append(_read(tree, incomplete=incomplete))
        for name in tables.TABLES:
            said[name][tree.version] = _said(name, tree, incomplete=incomplete)
    written = {name: _table(knowledge / f"{name}.json", name, each) for name, each in said.items()}
    for data in found:
        place = knowledge / "releases" / f"{data['release']}.json"
        write_atomically(place, writing.render_rows(pack(data)).encode())
    for name, table in written.items():
        write_atomically(knowledge / f"{name}.json", writing.render_rows(table).encode())
    return found


def _table(file: Path, name: str, said: dict[str, dict[str, Said]]) -> Json:
    known = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None
    return tables.updated(known, name, said)


def _said(name: str, tree: SourceTree, *, incomplete: bool) -> dict[str, Said]:
    try:
        return tables.TABLES[name](tree)
    except InputError as error:
        if not incomplete:
            raise
        sys.stderr.write(f"{error}\n")
        return {}


def _read(tree: SourceTree, *, incomplete: bool) -> Json:
    found = extract_tree(tree)
    if found.not_established and not incomplete:
        msg = f"{tree.path}: not everything could be established"
        raise InputError(msg, hint="\n  ".join(found.not_established))
    return found.data


def _print_changes(data: Json) -> None:
    new = parse.release(data)
    older = [name for name in load.release_names() if Version(name) < new.version]
    if older:
        before = load.release(older[0])
        releases_text.difference(Side(before, None), Side(new, None), (), console.stdout())


if __name__ == "__main__":
    sys.exit(main())
