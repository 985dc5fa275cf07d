"""Which labels of an image are true of what is inside it."""

from __future__ import annotations

import csv
import io
import posixpath
import re
from dataclasses import dataclass
from email.parser import HeaderParser
from typing import TYPE_CHECKING, Literal

from dsv4_doctor.images.labels import ARCHS, DISTRIBUTION, FEATURES, VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dsv4_doctor.binary.contents import SharedObject
    from dsv4_doctor.images.image import Contents
    from dsv4_doctor.images.layer import Entry

Status = Literal["true", "false", "unknown"]

# `e_machine` by the names that OCI gives to processors.
_MACHINES = {"amd64": 62, "arm64": 183}
_NAMES = {number: name for name, number in _MACHINES.items()}
_DIST_INFO = re.compile(r"(?P<site>.+)/(?P<name>[^/]+)-(?P<version>[^/-]+)\.dist-info/METADATA")


@dataclass(frozen=True)
class Claim:
    """A label, or the platform, held against the contents.

    Attributes:
        label: Which.
        value: What it says.
        status: ``unknown`` is no pass.
        reason: Why, in one line.
    """

    label: str
    value: str
    status: Status
    reason: str


@dataclass(frozen=True)
class Distribution:
    """An installed Python distribution.

    Attributes:
        name: As its metadata has it.
        files: Paths in the image.
    """

    name: str
    version: str
    files: frozenset[str]


def distributions(tree: Mapping[str, Entry]) -> Iterator[Distribution]:
    """Yield every Python distribution that is installed in an image."""
    for path, entry in tree.items():
        match = _DIST_INFO.fullmatch(path)
        if match is None or entry.content is None:
            continue
        text = entry.content.read(0, entry.content.size).decode("utf-8", "replace")
        headers = HeaderParser().parsestr(text)
        name = str(headers.get("Name") or match["name"])
        version = str(headers.get("Version") or match["version"])
        record = tree.get(f"{path.rpartition('/')[0]}/RECORD")
        yield Distribution(name, version, frozenset(_files(record, match["site"])))


def check(contents: Contents, objects: tuple[SharedObject, ...]) -> tuple[Claim, ...]:
    """Hold the labels that can be decided against what was found.

    Args:
        objects: With device code, each under its path; read for the families that are claimed.
    """
    labels = contents.summary.labels
    claims = [_platform(contents)]
    found = labelled(contents)
    if VERSION in labels:
        claims.append(_version(labels[VERSION], labels.get(DISTRIBUTION, ""), found))
    own = [each for each in objects if found is not None and each.name in found.files]
    if ARCHS in labels:
        present = {arch for each in own for arch in each.sass}
        claims += _listed(ARCHS, labels[ARCHS], present, found)
    if FEATURES in labels:
        present = {family.family for each in own for family in each.families}
        claims += _listed(FEATURES, labels[FEATURES], present, found)
    return tuple(claims)


def labelled(contents: Contents) -> Distribution | None:
    """Return the distribution that the labels are about, ``None`` when it is not installed."""
    wanted = normal(contents.summary.labels.get(DISTRIBUTION, ""))
    return next((d for d in distributions(contents.tree) if normal(d.name) == wanted), None)


def normal(name: str) -> str:
    """Return the one form of a distribution's name."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _platform(contents: Contents) -> Claim:
    platform = contents.summary.platform
    name = platform.partition("/")[2]
    wanted = _MACHINES.get(name)
    machines = {each.machine for each in contents.tree.values() if each.machine in _NAMES}
    if wanted is None or not machines:
        return Claim("platform", platform, "unknown", "no program of a known processor is in it")
    for path, entry in contents.tree.items():
        if entry.machine in _NAMES and entry.machine != wanted:
            reason = f"{path} is for {_NAMES[entry.machine]}"
            return Claim("platform", platform, "false", reason)
    return Claim("platform", platform, "true", f"every program and library is for {name}")


def _version(value: str, name: str, found: Distribution | None) -> Claim:
    if found is None:
        return Claim(VERSION, value, "unknown" if not name else "false", _absent(name))
    if found.version != value:
        return Claim(VERSION, value, "false", f"{found.name} {found.version} is installed")
    return Claim(VERSION, value, "true", f"{found.name} {found.version} is installed")


def _listed(
    label: str, value: str, present: set[str], found: Distribution | None
) -> Iterator[Claim]:
    said = value.split()
    if found is None:
        yield Claim(label, value, "false", "the distribution that it is about is not installed")
        return
    for each in said:
        if each in present:
            yield Claim(label, each, "true", f"in {found.name} {found.version}")
        else:
            has = " ".join(sorted(present)) or "none"
            yield Claim(
                label, each, "false", f"not in {found.name} {found.version}, which has {has}"
            )


def _absent(name: str) -> str:
    return f"{name} is not installed" if name else f"no label {DISTRIBUTION} says of what"


def _files(record: Entry | None, site: str) -> Iterator[str]:
    if record is None or record.content is None:
        return
    text = record.content.read(0, record.content.size).decode("utf-8", "replace")
    try:
        for row in csv.reader(io.StringIO(text)):
            if row:
                yield posixpath.normpath(posixpath.join(site, row[0])).lstrip("/")
    except csv.Error:
        return
