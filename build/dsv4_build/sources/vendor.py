"""Crates of a registry in the cache, and laid out for cargo in place of the registry.

cargo knows a directory of unpacked crates as a source of its own and compares each with the
checksum in ``Cargo.lock``; a ``.cargo/config.toml`` above the tree names it, so that nothing in the
tree is changed.
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dsv4_build import sdist
from dsv4_build.publish import sha256
from dsv4_doctor.errors import BuildError
from dsv4_doctor.files import atomically

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from dsv4_build.sources.store import Store

_BLOCK = re.compile(r"^\[\[package\]\]\s*$", re.MULTILINE)
_VALUE = re.compile(r'^(name|version|source|checksum) = "([^"\\]*)"\s*$', re.MULTILINE)
# As crates.io has them; nothing that a file system reads in its own way.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_VERSION = re.compile(r"[0-9][A-Za-z0-9.+-]*")
_DIGEST = re.compile(r"[0-9a-f]{64}")

# Beside the tree, below the work directory.
DIRECTORY = "crates"

_CONFIG = """\
# Written by dsv4-doctor: crates come from the directory beside this one, not from a network.
[source.crates-io]
replace-with = "dsv4"

[source.dsv4]
directory = "crates"
"""


@dataclass(frozen=True, order=True)
class Crate:
    """A crate of a registry, as a ``Cargo.lock`` pins it."""

    name: str
    version: str
    sha256: str

    @property
    def file(self) -> str:
        """The name of its archive."""
        return f"{self.name}-{self.version}.crate"


def place(store: Store, digest: str) -> Path:
    """Return where the cache has a crate, or would have it."""
    return store.root / "crates" / f"{digest}.crate"


def kept(store: Store) -> tuple[Path, ...]:
    """Return the archives of all crates that the cache has."""
    return tuple(sorted((store.root / "crates").glob("*.crate")))


def wrong(store: Store) -> str:
    """Return which of them is not what its name says, empty for none."""
    broken = [file.name for file in kept(store) if sha256(file) != file.name.partition(".")[0]]
    return f"{broken[0]} is not what its name says" if broken else ""


def crates(locks: Mapping[str, str]) -> tuple[Crate, ...]:
    """Return the crates of registries that these ``Cargo.lock`` files pin, in order."""
    return tuple(sorted({crate for text in locks.values() for crate in _crates(text)}))


def _crates(text: str) -> Iterator[Crate]:
    for block in _BLOCK.split(text)[1:]:
        found = dict(_VALUE.findall(block.partition("\n[")[0]))
        if not found.get("source", "").startswith(("registry+", "sparse+")):
            continue
        made = Crate(found.get("name", ""), found.get("version", ""), found.get("checksum", ""))
        patterns = ((_NAME, made.name), (_VERSION, made.version), (_DIGEST, made.sha256))
        if all(pattern.fullmatch(value) for pattern, value in patterns):
            yield made


def lacking(store: Store, wanted: Iterable[Crate]) -> list[Crate]:
    """Return the crates that the cache does not have."""
    return [crate for crate in wanted if not place(store, crate.sha256).is_file()]


def harvest(store: Store, wanted: Iterable[Crate], cargo_home: Path) -> None:
    """Copy crates that cargo has downloaded into the cache, each compared with its checksum.

    Raises:
        BuildError: The cache cannot be written.
    """
    for crate in lacking(store, wanted):
        for file in sorted((cargo_home / "registry" / "cache").glob(f"*/{crate.file}")):
            if sha256(file) == crate.sha256:
                keep(store, crate.sha256, file)
                break


def keep(store: Store, digest: str, file: Path) -> None:
    """Copy an archive of this digest into the cache.

    Raises:
        BuildError: The cache cannot be written.
    """
    target = place(store, digest)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with file.open("rb") as source:
            atomically(target, lambda new: shutil.copyfileobj(source, new))
    except OSError as error:
        msg = f"{target}: cannot be written: {error.strerror or error}"
        raise BuildError(msg) from error


def lay_out(store: Store, wanted: Iterable[Crate], root: Path) -> bool:
    """Give cargo the crates below a directory that holds a tree, when the cache has them all.

    Returns:
        Whether it did.

    Raises:
        InputError: An archive is broken.
        BuildError: An archive is not what its name says, or the directory cannot be written.
    """
    needed = sorted(wanted)
    directory, config = root / DIRECTORY, root / ".cargo"
    shutil.rmtree(directory, ignore_errors=True)
    shutil.rmtree(config, ignore_errors=True)
    if not needed or lacking(store, needed):
        return False
    try:
        directory.mkdir()
        config.mkdir()
        for crate in needed:
            _unpack(store, crate, directory)
        (config / "config.toml").write_text(_CONFIG, encoding="utf-8")
    except OSError as error:
        msg = f"{directory}: cannot be written: {error.strerror or error}"
        raise BuildError(msg) from error
    return True


def _unpack(store: Store, crate: Crate, directory: Path) -> None:
    archive, target = place(store, crate.sha256), directory / f"{crate.name}-{crate.version}"
    if sha256(archive) != crate.sha256:
        msg = f"{archive} is not what its name says"
        raise BuildError(msg, hint="remove it, and run dsv4-doctor sources pull")
    sdist.unpack(archive, target)
    # The package's checksum is the archive's, which was compared; its files follow from it.
    content = {"files": {}, "package": crate.sha256}
    (target / ".cargo-checksum.json").write_text(json.dumps(content), encoding="utf-8")
