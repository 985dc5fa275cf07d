"""What is known of a wheel, read from its bytes: nothing else goes into an image's labels."""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass
from email.parser import HeaderParser
from typing import TYPE_CHECKING

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from dsv4_build.publish import sha256
from dsv4_doctor.arch import Arch
from dsv4_doctor.binary.inspection import Options, inspect_path
from dsv4_doctor.binary.marks import ELF
from dsv4_doctor.binary.objects import open_objects
from dsv4_doctor.binary.requirements import decide, parse_requirements
from dsv4_doctor.errors import BuildError, InputError
from dsv4_doctor.knowledge.kernels import families

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from dsv4_doctor.binary.contents import Inspection
    from dsv4_doctor.binary.requirements import Decision

# `e_machine` by the ends of platform tags.
_MACHINES = {"x86_64": 62, "aarch64": 183}
_MANYLINUX = re.compile(r"manylinux_(\d+)_(\d+)_")
_PYTHON = re.compile(r"cp3(\d+)")
# As setuptools-scm writes it, and in the local part of a version.
_COMMIT_LINE = re.compile(r"^(?:__commit_id__ = )?commit_id = '(g?[0-9a-f]{7,40})'", re.MULTILINE)
_COMMIT_LOCAL = re.compile(r"(?:^|\.)g([0-9a-f]{7,40})(?:\.|$)")
# Oldest Python that the doctor in the image runs on.
_OLDEST = 10


@dataclass(frozen=True)
class Wheel:
    """A wheel.

    Attributes:
        version: As its metadata has it.
        commit: That it was built from, empty when it does not say.
        machine: As ``uname -m``.
        glibc: Oldest that it promises or needs, empty when it asks for none.
        python: Oldest that it takes, such as ``3.10``.
        exact: Whether it takes this Python alone.
        needs: Whether it asks for other distributions.
        archs: Architectures with machine code.
        features: Kernel families that are proved.
        decisions: What was required of it.
    """

    path: Path
    name: str
    version: str
    sha256: str
    commit: str
    machine: str
    glibc: str
    python: str
    exact: bool
    needs: bool
    archs: tuple[str, ...]
    features: tuple[str, ...]
    decisions: tuple[Decision, ...]


def read(path: Path, require: Sequence[str] = ()) -> Wheel:
    """Read a wheel.

    Args:
        require: Features and architectures that must be in it.

    Raises:
        InputError: It is no wheel, or its name and its contents tell different stories.
        BuildError: Something required is not in it.
    """
    try:
        name, version, _, tags = parse_wheel_filename(path.name)
    except (InvalidWheelFilename, ValueError) as error:
        msg = f"{path}: not named as a wheel is: {error}"
        raise InputError(msg) from error
    wanted = parse_requirements(require)
    known = [each.id for each in families() if each.variants]
    found = inspect_path(path, Options(prove=known, linkage=True))
    decisions = decide(found, wanted)
    failed = [each for each in decisions if each.status != "present"]
    if failed:
        lines = "\n".join(f"  {each.requirement}: {each.status}, {each.reason}" for each in failed)
        msg = f"{path}: does not hold what was asked for\n{lines}"
        raise BuildError(msg, hint="no image was made")
    platforms = {tag.platform for tag in tags}
    machine = _machine(path, platforms)
    metadata, commit = _texts(path)
    pythons = {tag.interpreter for tag in tags}
    return Wheel(
        path=path,
        name=str(name),
        version=str(version),
        sha256=sha256(path),
        commit=commit or _local(str(version)),
        machine=machine,
        glibc=_glibc(found, platforms),
        python=_python(pythons, metadata.get("Requires-Python") or ""),
        exact=not any(tag.abi in {"abi3", "none"} for tag in tags),
        needs=bool(found.linkage and found.linkage.package.requires),
        archs=tuple(
            arch.sm for arch in sorted({Arch.parse(a) for o in found.objects for a in o.sass})
        ),
        features=tuple(dict.fromkeys(f.family for o in found.objects for f in o.families)),
        decisions=decisions,
    )


def _machine(path: Path, platforms: set[str]) -> str:
    """Return the processor of a wheel, once its name and its objects agree on it."""
    named = [each for each in _MACHINES if any(p.endswith(each) for p in platforms)]
    with open_objects(path) as opened:
        for each in opened:
            if isinstance(each.content, InputError):
                continue
            first = each.content.peek(20)
            machine = int.from_bytes(first[18:20], "little")
            if not first.startswith(ELF) or machine not in _MACHINES.values():
                continue
            if not named:
                named = [name for name, number in _MACHINES.items() if number == machine]
            if machine != _MACHINES[named[0]]:
                msg = (
                    f"{path}: its name says {named[0]}, {each.name} in it is for another processor"
                )
                raise InputError(msg, hint="it was renamed, or built wrongly: build it again")
    if not named:
        msg = f"{path}: for which processor? Neither its name nor its contents say"
        raise InputError(msg)
    return named[0]


def _texts(path: Path) -> tuple[dict[str, str], str]:
    """Return the headers of its metadata, and the commit that it names."""
    headers: dict[str, str] = {}
    commit = ""
    try:
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                if info.filename.endswith(".dist-info/METADATA"):
                    text = archive.read(info).decode("utf-8", "replace")
                    headers = dict(HeaderParser().parsestr(text).items())
                elif info.filename.endswith("/_version.py") and info.filename.count("/") == 1:
                    match = _COMMIT_LINE.search(archive.read(info).decode("utf-8", "replace"))
                    commit = match[1].removeprefix("g") if match else ""
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        msg = f"{path}: cannot be read: {error}"
        raise InputError(msg) from error
    return headers, commit


def _local(version: str) -> str:
    match = _COMMIT_LOCAL.search(Version(version).local or "")
    return match[1] if match else ""


def _glibc(found: Inspection, platforms: set[str]) -> str:
    needed = found.linkage.glibc if found.linkage is not None else None
    promised = [f"{m[1]}.{m[2]}" for m in map(_MANYLINUX.match, platforms) if m]
    versions = [Version(each) for each in (*promised[:1], needed) if each]
    return str(max(versions)) if versions else ""


def _python(interpreters: set[str], requires: str) -> str:
    minors = [int(m[1]) for m in map(_PYTHON.fullmatch, interpreters) if m]
    oldest = max(_OLDEST, *minors, *_lower_bounds(requires))
    return f"3.{oldest}"


def _lower_bounds(requires: str) -> Iterator[int]:
    try:
        specifiers = SpecifierSet(requires)
    except InvalidSpecifier:
        return
    for each in specifiers:
        parts = each.version.split(".")
        if each.operator in {">=", "~="} and parts[0] == "3" and len(parts) > 1:
            yield int(parts[1])
