#!/usr/bin/env python3
"""Brings vLLM releases into the knowledge: their file, the flags' history, and what changed.

    scripts/update_knowledge.py 0.34.0                    from the package index
    scripts/update_knowledge.py --new                     all that came after the newest known one
    scripts/update_knowledge.py vllm-0.34.0.tar.gz [...]

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
from dsv4_doctor.knowledge.extract import flag_history, writing
from dsv4_doctor.knowledge.extract.flags import flags
from dsv4_doctor.knowledge.extract.release import extract
from dsv4_doctor.knowledge.extract.tree import open_tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsv4_doctor.knowledge.extract.facts import Json

KNOWLEDGE = Path(load.__file__).parent
FLAGS = "flags.json"


def main() -> int:
    """Read every release, then write everything; 1 when one cannot be used."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("release", nargs="*", help="a release, or its source distribution")
    parser.add_argument("--new", action="store_true", help="every release newer than those known")
    parser.add_argument(
        "--incomplete", action="store_true", help="write what has gaps, too, to look at it"
    )
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


def _update(paths: Sequence[Path], knowledge: Path, *, incomplete: bool) -> list[Json]:
    """Write what was read of all releases; nothing before all of them could be read."""
    found = [_read(each, incomplete=incomplete) for each in paths]
    known = knowledge / FLAGS
    history = json.loads(known.read_text(encoding="utf-8")) if known.is_file() else None
    for path, data in zip(paths, found, strict=True):
        history = flag_history.add(
            history or flag_history.EMPTY, data["release"], flags(open_tree(path))
        )
    for data in found:
        place = knowledge / "releases" / f"{data['release']}.json"
        write_atomically(place, writing.render(data).encode())
    write_atomically(known, writing.render(history).encode())
    return found


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
