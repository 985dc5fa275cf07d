"""What a wheel or an installed distribution says of itself: name, tags, what it needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion

from dsv4_doctor.binary.marks import ZIP
from dsv4_doctor.binary.source import BinaryError, DiskFile
from dsv4_doctor.binary.wheel import directory, open_member

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from zipfile import ZipInfo

    from dsv4_doctor.binary.source import Source

# The longest METADATA seen, with a whole README in it, has some hundred kilobytes.
_MAX_TEXT = 4 << 20


@dataclass(frozen=True)
class Package:
    """What a distribution says of itself.

    Attributes:
        name: Normalised, empty when not known.
        version: Empty when not known.
        file_tags: Tags of the wheel's file name, such as ``cp38-abi3-manylinux_2_28_x86_64``.
        wheel_tags: Tags of the file ``WHEEL`` inside.
        requires: What it needs at run time, without what only an extra or another platform needs.
    """

    name: str = ""
    version: str = ""
    file_tags: tuple[str, ...] = ()
    wheel_tags: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags that an installer goes by: those of the file name, where there is one."""
        return self.file_tags or self.wheel_tags

    @property
    def platforms(self) -> tuple[str, ...]:
        """Their platforms, such as ``manylinux_2_28_x86_64``."""
        return tuple(dict.fromkeys(each.rpartition("-")[2] for each in self.tags))

    def pinned(self, name: str) -> SpecifierSet | None:
        """Return which versions of another distribution it asks for, ``None`` for no word of it."""
        wanted = canonicalize_name(name)
        if self.name == wanted and self.version:
            return SpecifierSet(f"=={self.version}")
        found = [Requirement(each) for each in self.requires]
        mine = [each.specifier for each in found if canonicalize_name(each.name) == wanted]
        return SpecifierSet(",".join(str(each) for each in mine)) if mine else None


def of_wheel(path: Path) -> Package | None:
    """Read a wheel's own words; ``None`` for what is no wheel.

    Raises:
        InputError: It is damaged.
    """
    with DiskFile(path) as archive:
        if archive.peek(len(ZIP)) != ZIP:
            return None
        members = {each.filename: each for each in directory(path)}
        names = [
            each
            for each in members
            if each.count("/") == 1 and each.endswith(".dist-info/METADATA")
        ]
        if len(names) != 1:
            return None
        tags = f"{names[0].rpartition('/')[0]}/WHEEL"
        metadata = _member(archive, members[names[0]])
        wheel = _member(archive, members[tags]) if tags in members else ""
    return _package(metadata, wheel, tuple(_file_tags(path.name)))


def of_installed(metadata: Path) -> Package:
    """Read the metadata directory of an installed distribution."""
    return _package(
        _text(metadata / "METADATA") or _text(metadata / "PKG-INFO"), _text(metadata / "WHEEL"), ()
    )


def parse_headers(text: str) -> list[tuple[str, str]]:
    """Return the fields in the head of METADATA or WHEEL, which ends with the first empty line."""
    found = []
    for line in text.splitlines():
        if not line.strip():
            break
        key, colon, value = line.partition(":")
        if colon and not line[0].isspace():
            found.append((key.strip().lower(), value.strip()))
    return found


def _package(metadata: str, wheel: str, file_tags: tuple[str, ...]) -> Package:
    fields = parse_headers(metadata)
    first = dict(reversed(fields))
    return Package(
        name=canonicalize_name(first.get("name", "")),
        version=first.get("version", ""),
        file_tags=file_tags,
        wheel_tags=tuple(value for key, value in parse_headers(wheel) if key == "tag"),
        requires=tuple(
            value for key, value in fields if key == "requires-dist" and _applies(value)
        ),
    )


def _applies(text: str) -> bool:
    try:
        marker = Requirement(text).marker
        return marker is None or marker.evaluate({"extra": "", "platform_system": "Linux"})
    except (InvalidRequirement, ValueError):
        return False


def _file_tags(name: str) -> Iterator[str]:
    try:
        tags = parse_wheel_filename(name)[3]
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        return
    yield from sorted(map(str, tags))


def _member(archive: Source, info: ZipInfo) -> str:
    member = open_member(archive, info)
    if member.size > _MAX_TEXT:
        raise BinaryError(member.name, info.header_offset, f"a text of {member.size} bytes")
    return member.read(0, member.size).decode("utf-8", "replace")


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_TEXT).decode("utf-8", "replace")
    except OSError:
        return ""
