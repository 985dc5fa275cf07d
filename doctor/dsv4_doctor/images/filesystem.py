"""The file system that the layers of an image make together."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dsv4_doctor.images.layer import Entry, Layer

_WHITEOUT, _OPAQUE = ".wh.", ".wh..wh..opq"


def union(layers: Iterable[Layer]) -> dict[str, Entry]:
    """Return what is at each path once all layers lie on each other.

    Whiteouts take away what lower layers have, and so does anything else than a directory where a
    directory was. A hard link is what it leads to.
    """
    tree: dict[str, Entry] = {}
    for layer in layers:
        gone, emptied = _taken_away(layer)
        if gone or emptied:
            tree = {name: each for name, each in tree.items() if not _hidden(name, gone, emptied)}
        for entry in layer.entries:
            name = entry.member.name
            if not name.rpartition("/")[2].startswith(_WHITEOUT):
                tree[name] = _followed(entry, tree)
    return tree


def _taken_away(layer: Layer) -> tuple[set[str], set[str]]:
    """Return paths of which nothing of lower layers is left, and directories that are emptied."""
    gone: set[str] = set()
    emptied: set[str] = set()
    for entry in layer.entries:
        folder, _, base = entry.member.name.rpartition("/")
        if base == _OPAQUE:
            emptied.add(folder)
        elif base.startswith(_WHITEOUT):
            gone.add(_join(folder, base.removeprefix(_WHITEOUT)))
        elif entry.member.kind != "directory":
            gone.add(entry.member.name)
    return gone, emptied


def _hidden(name: str, gone: set[str], emptied: set[str]) -> bool:
    if name in gone or "" in emptied:
        return True
    folder = name.rpartition("/")[0]
    while folder:
        if folder in gone or folder in emptied:
            return True
        folder = folder.rpartition("/")[0]
    return False


def _followed(entry: Entry, tree: Mapping[str, Entry]) -> Entry:
    if entry.member.kind != "link":
        return entry
    target = "/".join(part for part in entry.member.link.split("/") if part not in {"", "."})
    return tree.get(target, entry)


def _join(folder: str, base: str) -> str:
    return f"{folder}/{base}" if folder else base
