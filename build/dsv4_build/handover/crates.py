"""The crates that a tree's ``Cargo.lock`` pins, each with the checksum that cargo asks of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dsv4_build.handover.materials import Material, package_url

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOCK = "Cargo.lock"

# cargo writes the file itself, one key a line, in this form since version 1 of the lock.
_BLOCK = re.compile(r"^\[\[package\]\]\n((?:[^\n]+\n)+)", re.MULTILINE)
_VALUE = re.compile(r'^(?P<key>name|version|source|checksum) = "(?P<value>[^"\n]*)"$', re.MULTILINE)


def locked(tree: Path) -> tuple[Material, ...]:
    """Return the crates of every lock of a tree that come from elsewhere, each once.

    Which of them end up in a binary is cargo's to decide: those of other platforms and of tests are
    among them.

    Args:
        tree: The copy that was built.

    Raises:
        OSError: A lock cannot be read.
    """
    found: dict[str, Material] = {}
    for file in (tree / LOCK, *sorted(tree.glob(f"*/{LOCK}"))):
        if file.is_file():
            for each in parse(file.read_text(encoding="utf-8", errors="replace")):
                found.setdefault(each.purl, each)
    return tuple(found[purl] for purl in sorted(found))


def parse(text: str) -> Iterator[Material]:
    """Read a lock; crates of the tree itself have no source and are left out."""
    for block in _BLOCK.finditer(text):
        values = {match["key"]: match["value"] for match in _VALUE.finditer(block[1])}
        if {"name", "version", "source"} <= values.keys():
            yield _material(values)


def _material(values: dict[str, str]) -> Material:
    name, version, source = values["name"], values["version"], values["source"]
    digest, url = ("", ""), ""
    if "checksum" in values:
        digest = ("sha256", values["checksum"])
    kind, _, place = source.partition("+")
    if kind == "git":
        url, _, commit = place.partition("#")
        url = url.partition("?")[0]
        digest = ("gitCommit", commit)
    purl = package_url("cargo", name, version)
    return Material("crate", name, version, purl, digest, url)
