"""Where an installed distribution lies and which files it has, without importing anything."""

from __future__ import annotations

import csv
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

from dsv4_doctor.errors import InputError
from dsv4_doctor.probes import files, interpreter, site_packages

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# RECORD of the largest distribution known here, torch 2.11.0, has 1.6 MB.
_MAX_RECORD = 64 << 20
_LISTS = ("RECORD", "installed-files.txt")


@dataclass(frozen=True)
class Installed:
    """One installed distribution.

    Attributes:
        name: As the user wrote it.
        root: What the names of its files are relative to.
        files: Its files; empty when it is a source tree that is imported in place.
        metadata: The directory of its metadata.
        editable: Whether it is a source tree that is imported in place; its root is the package
            in that tree.
    """

    name: str
    root: Path
    files: tuple[str, ...]
    metadata: Path
    editable: bool = False


def find(name: str, python: str | None, environ: Mapping[str, str] | None = None) -> Installed:
    """Find a distribution in the environment that ``check`` would look at, too.

    Args:
        name: Of the distribution.
        python: Interpreter or directory of an environment; ``None`` for the active one.
        environ: Environment variables; those of this process when ``None``.

    Raises:
        InputError: It is not installed there, or its list of files is gone.
    """
    try:
        choice = interpreter.choose(python, os.environ if environ is None else environ)
        sites = interpreter.describe(choice).sites
    except interpreter.InterpreterError as error:
        raise InputError(str(error)) from error
    found = find_in(site_packages.scan(sites).roots, name)
    if found is None:
        msg = f"{name}: neither a file or directory, nor installed for {choice.executable}"
        raise InputError(msg, hint="--python names the interpreter of another environment")
    return found


def find_in(roots: Iterable[Path], name: str) -> Installed | None:
    """Find a distribution below directories that packages are imported from.

    Raises:
        InputError: It is there, but its list of files is not.
    """
    metadata = site_packages.metadata_of(roots, name)
    if metadata is None:
        return None
    tree = _source_tree(metadata)
    if tree is not None:
        package = site_packages.normalise(name).replace("-", "_")
        places = (tree / package, tree / "src" / package, tree)
        root = next((each for each in places if files.is_directory(each)), None)
        if root is None:
            msg = f"{name}: it is imported in place from {tree}, which is gone"
            raise InputError(msg)
        return Installed(name, root, (), metadata, editable=True)
    for listed in _LISTS:
        text = files.read(metadata / listed, _MAX_RECORD)
        if text is not None:
            # The older list is relative to the metadata, RECORD to the directory around it.
            root = metadata.parent if listed == "RECORD" else metadata
            return Installed(name, root, tuple(parse_record(text)), metadata)
    if metadata.name == "EGG-INFO":
        return Installed(name, metadata.parent, (), metadata, editable=True)
    msg = f"{metadata}: neither of {' and '.join(_LISTS)} is there to say which files it has"
    raise InputError(msg)


def parse_record(text: str) -> list[str]:
    """Return the files that RECORD lists: the first column of its CSV."""
    try:
        return [row[0] for row in csv.reader(text.replace("\0", "").splitlines()) if row and row[0]]
    except csv.Error:
        return []


def _source_tree(metadata: Path) -> Path | None:
    text = files.read(metadata / "direct_url.json")
    try:
        data = json.loads(text) if text else {}
        if not data.get("dir_info", {}).get("editable"):
            return None
        return Path(unquote(urlparse(data["url"]).path))
    except (ValueError, AttributeError, KeyError, TypeError):
        # A damaged note of where it came from says nothing; the list of files decides.
        return None
