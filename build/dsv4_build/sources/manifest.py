"""The table of contents of a bundle: what is in it, and every digest, before anything is read."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from typing import Any

from dsv4_build.sources import address
from dsv4_build.sources.git import COMMIT
from dsv4_doctor.errors import InputError

SCHEMA = "dsv4-doctor/source-bundle/1"
NAME = "manifest.json"
# Bytes: thousands of repositories would fit.
LIMIT = 16 << 20

_DIGEST = re.compile(r"[0-9a-f]{64}")
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*\.(?:tar\.gz|crate)")
CRATE = ".crate"
# Stricter than git, which allows nearly everything.
_TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9_+-]*(?:[./][A-Za-z0-9_+-]+)*")


@dataclass(frozen=True)
class PackedArchive:
    """An sdist or a crate in a bundle; ``size`` is in bytes."""

    file: str
    sha256: str
    size: int

    @property
    def member(self) -> str:
        """Its name in the bundle."""
        return f"{'crates' if self.file.endswith(CRATE) else 'sdists'}/{self.sha256}"


@dataclass(frozen=True)
class PackedRepository:
    """A repository in a bundle.

    Attributes:
        place: ``host/owner/name.git``.
        commits: Ids of the commits, each with the id of its tree.
        tags: Names, each with the id of a commit or a tag object.
        sha256: Digest of the pack.
        size: Of the pack, in bytes.
    """

    place: str
    commits: dict[str, str]
    tags: dict[str, str]
    sha256: str
    size: int

    @property
    def member(self) -> str:
        """Its name in the bundle."""
        return f"git/{self.place.removesuffix('.git')}.pack"


@dataclass(frozen=True)
class Manifest:
    """What a bundle holds, in the order in which it holds it."""

    archives: tuple[PackedArchive, ...]
    repositories: tuple[PackedRepository, ...]

    @property
    def members(self) -> tuple[PackedArchive | PackedRepository, ...]:
        """All of it, in the order of the file."""
        return (*self.archives, *self.repositories)

    @property
    def size(self) -> int:
        """The bytes of all members."""
        return sum(each.size for each in self.members)

    def to_bytes(self) -> bytes:
        """Return it as JSON, always in the same form."""
        content = {
            "schema": SCHEMA,
            "archives": [asdict(each) for each in self.archives],
            "repositories": [asdict(each) for each in self.repositories],
        }
        return (json.dumps(content, indent=1, sort_keys=True) + "\n").encode()


def read(content: bytes, path: str) -> Manifest:
    """Read a table of contents that anybody may have written.

    Args:
        path: The bundle, for messages.

    Raises:
        InputError: It is none, or names what does not belong there.
    """
    try:
        data = json.loads(content)
        if data["schema"] != SCHEMA:
            msg = f"{path}: a bundle of schema {data['schema']!r}, not {SCHEMA}"
            raise InputError(msg)
        made = Manifest(
            tuple(_archive(each) for each in data["archives"]),
            tuple(_repository(each) for each in data["repositories"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        msg = f"{path}: no readable bundle of sources: its {NAME} is broken ({error!r})"
        raise InputError(msg) from error
    names = [each.member for each in made.members]
    if len(names) != len(set(names)):
        msg = f"{path}: no readable bundle of sources: its {NAME} names a member twice"
        raise InputError(msg)
    return made


def _archive(data: Any) -> PackedArchive:
    return PackedArchive(
        _matching(_FILE, data["file"]), _matching(_DIGEST, data["sha256"]), _size(data["size"])
    )


def _repository(data: Any) -> PackedRepository:
    place = data["place"]
    if address.parse(f"https://{place}").place != place:
        msg = f"place {place!r}"
        raise ValueError(msg)
    commits = _named(COMMIT, data["commits"])
    if not commits:
        msg = f"{place} without a commit"
        raise ValueError(msg)
    return PackedRepository(
        place=place,
        commits=commits,
        tags=_named(_TAG, data["tags"]),
        sha256=_matching(_DIGEST, data["sha256"]),
        size=_size(data["size"]),
    )


def _named(names: re.Pattern[str], data: Any) -> dict[str, str]:
    return {_matching(names, key): _matching(COMMIT, value) for key, value in data.items()}


def _matching(pattern: re.Pattern[str], value: Any) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value) or value.endswith(".lock"):
        msg = f"{value!r} does not belong there"
        raise ValueError(msg)
    return value


def _size(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        msg = f"{value!r} is no size"
        raise ValueError(msg)
    return value
