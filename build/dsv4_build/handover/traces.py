"""Directories of the machine that built a wheel, named in its files."""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_build.handover.archive import BROKEN
from dsv4_doctor.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dsv4_build.plan import Plan
    from dsv4_doctor.binary.contents import Inspection

_CHUNK = 1 << 20

# Where distributions and vendors install: the same on every machine.
_COMMON = ("/usr", "/opt")


@dataclass(frozen=True)
class Place:
    """A directory that only the machine that builds has.

    Attributes:
        path: Absolute.
        what: What it is to the build.
    """

    path: str
    what: str


@dataclass(frozen=True)
class Trace:
    """One file that names such a directory.

    Attributes:
        file: Its name in the wheel.
        place: The directory.
        what: What it is to the build.
        count: How often it is named.
    """

    file: str
    place: str
    what: str
    count: int


def places(plan: Plan, home: Path | None) -> tuple[Place, ...]:
    """Return the directories whose names must not leave the machine, the deepest first.

    Args:
        home: The user's own, ``None`` when there is none.
    """
    python = Path(plan.choices.python.executable).parent.parent
    found = [
        Place(plan.work, "the work directory"),
        Place(str(python), "the interpreter's environment"),
        Place(plan.choices.toolchain.root, "the toolkit"),
    ]
    if plan.tree.source.kind == "directory":
        found.append(Place(plan.tree.source.path, "the source that was copied"))
    if home is not None:
        found.append(Place(str(home), "the home directory"))
    # What every machine may have says nothing of this one.
    common = _COMMON if plan.view.kind == "own" else (*_COMMON, plan.view.root)
    own = [each for each in found if each.path != "/" and not each.path.startswith(common)]
    return tuple(sorted(dict.fromkeys(own), key=lambda each: (-len(each.path), each.path)))


def home() -> Path | None:
    """Return the user's own directory, ``None`` when there is none."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def search(wheel: Path, wanted: Sequence[Place], source: Path) -> tuple[Trace, ...]:
    """Look for directories in every file of a wheel.

    A file that is the source's own, byte for byte, names nothing of this machine.

    Args:
        source: The copy of the tree that was built.

    Raises:
        BuildError: The wheel cannot be read.
    """
    found: list[Trace] = []
    try:
        with zipfile.ZipFile(wheel) as archive:
            for info in archive.infolist():
                if info.is_dir() or _unchanged(archive, info, source / info.filename):
                    continue
                found += _in_member(archive, info, wanted)
    except BROKEN as error:
        msg = f"{wheel}: cannot be read: {error}"
        raise BuildError(msg) from error
    return tuple(found)


def _unchanged(archive: zipfile.ZipFile, info: zipfile.ZipInfo, original: Path) -> bool:
    if not original.is_file() or original.stat().st_size != info.file_size:
        return False
    return original.read_bytes() == archive.read(info)


def _in_member(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, wanted: Sequence[Place]
) -> list[Trace]:
    by_name = {f"{each.path}/".encode(): each for each in wanted}
    counts = dict.fromkeys(wanted, 0)
    # The deepest directory first, so that it is not counted for those above it.
    pattern = re.compile(b"|".join(re.escape(each) for each in by_name))
    longest = max(map(len, by_name), default=1)
    with archive.open(info) as file:
        rest, ended = b"", False
        while not ended:
            block = file.read(_CHUNK)
            ended = not block
            data = rest + block
            # What begins behind this could be the beginning of something longer.
            end = len(data) if ended else max(len(data) - longest + 1, 0)
            for match in pattern.finditer(data):
                if match.start() < end:
                    counts[by_name[match[0]]] += 1
                    end = max(end, match.end())
            rest = data[end:]
    return [
        Trace(info.filename, place.path, place.what, count)
        for place, count in counts.items()
        if count
    ]


def require_hidden(found: Iterable[Trace], plan: Plan) -> None:
    """Refuse a wheel that names a directory which the build's programs knew by another name.

    Where they had no other names for them, a path in a string is no fault, but is told.

    Raises:
        BuildError: One is named all the same, so that another machine would make other bytes.
    """
    hidden = {real for real, _ in plan.view.names}
    lines = [f"  {each.file}: {each.place}" for each in found if each.place in hidden]
    if lines:
        text = "\n".join(lines)
        msg = f"proof: files of the wheel name directories that were hidden from the build\n{text}"
        raise BuildError(msg)


def require_no_search_paths(inspections: Iterable[Inspection], wanted: Sequence[Place]) -> None:
    """Refuse modules that look for libraries in directories of this machine.

    Raises:
        BuildError: A run path leads into one of them.
    """
    linked = [
        (each.name, entry)
        for inspection in inspections
        for each in inspection.objects
        if each.linkage is not None
        for entry in (*each.linkage.rpath, *each.linkage.runpath)
    ]
    found = [
        f"  {name}: {entry}"
        for name, entry in linked
        if any(_inside(entry, place.path) for place in wanted)
    ]
    if found:
        lines = "\n".join(found)
        msg = f"proof: modules look for libraries in directories of this machine\n{lines}"
        raise BuildError(msg, hint="CMake strips run paths at install unless it is told otherwise")


def _inside(entry: str, place: str) -> bool:
    return entry == place or entry.startswith(f"{place}/")
