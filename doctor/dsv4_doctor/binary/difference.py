"""What differs between two wheels, directories or files, and where."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal

from dsv4_doctor.binary.device_code import DeviceImages, read_images
from dsv4_doctor.binary.elf import read_elf
from dsv4_doctor.binary.marks import ELF, FATBIN
from dsv4_doctor.binary.payload import UndecodedError, read_kernels
from dsv4_doctor.binary.tree import open_tree
from dsv4_doctor.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from dsv4_doctor.binary.fatbin import Image
    from dsv4_doctor.binary.source import Source
    from dsv4_doctor.binary.tree import Entry

SCHEMA = "dsv4-doctor/inspection-diff/1"

_BLOCK = 1 << 20
# A run of bytes that differ is followed no further: where it starts is what tells.
_LONGEST_RUN = 1 << 16


@dataclass(frozen=True)
class Range:
    """The first bytes in which two files differ.

    Attributes:
        start: Offset of the first byte that differs, in the older file.
        end: Offset behind the last byte of that run, which is followed for 64 kB.
        section: The ELF section that it starts in, ``headers`` between the sections of an ELF
            file, empty in a file that is not ELF.
        image: The architecture of the image that it starts in, empty outside of images.
    """

    start: int
    end: int
    section: str = ""
    image: str = ""


@dataclass(frozen=True)
class FileDifference:
    """One file that only one of both has, or that differs.

    Attributes:
        name: Relative to what was compared; empty for two single files.
        change: ``added``, ``removed`` or ``changed``.
        before: Its size in the older one, ``None`` when it is not there.
        after: Its size in the newer one, ``None`` when it is not there.
        first: The first bytes that differ, ``None`` when one is the beginning of the other, or
            when only one of both has it.
        archs_added: Machine code and PTX that only the newer one has, such as ``sm_90a``.
        archs_removed: Machine code and PTX that only the older one has.
        kernels_added: Kernels that only the newer one has, as ``sm_90a NAME``.
        kernels_removed: Kernels that only the older one has.
        unread: What could not be read and therefore is not compared, with the reason.
    """

    name: str
    change: Literal["added", "removed", "changed"]
    before: int | None
    after: int | None
    first: Range | None = None
    archs_added: tuple[str, ...] = ()
    archs_removed: tuple[str, ...] = ()
    kernels_added: tuple[str, ...] = ()
    kernels_removed: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


@dataclass(frozen=True)
class Difference:
    """What differs between two wheels, directories or files.

    Attributes:
        before: The older one, as the user named it.
        after: The newer one.
        files: Files that differ, by name.
        same: How many files are the same in both.
        kernels: Whether kernel names were compared.
    """

    before: str
    after: str
    files: tuple[FileDifference, ...]
    same: int
    kernels: bool

    def to_json(self) -> dict[str, Any]:
        """Return the difference in the schema ``dsv4-doctor/inspection-diff/1``."""
        return {"schema": SCHEMA, **asdict(self)}


def compare(before: Path, after: Path, *, kernels: bool = False) -> Difference:
    """Compare two wheels, directories or files.

    Args:
        before: The older one.
        after: The newer one.
        kernels: Compare the names of kernels in files that differ, too.

    Raises:
        InputError: One of them cannot be read.
    """
    with open_tree(before) as old, open_tree(after) as new:
        names = sorted({*old, *new})
        found = [_file(name, old.get(name), new.get(name), kernels) for name in names]
    differing = tuple(each for each in found if each is not None)
    return Difference(str(before), str(after), differing, len(names) - len(differing), kernels)


def _file(name: str, old: Entry | None, new: Entry | None, kernels: bool) -> FileDifference | None:
    unread: list[str] = []
    first = None
    if old is not None and new is not None:
        try:
            same, first = _bytes(old, new)
        except InputError as error:
            same = False
            unread.append(str(error))
        if same:
            return None
    mine, theirs = _Contents(old, kernels, unread), _Contents(new, kernels, unread)
    return FileDifference(
        name=name,
        change="added" if old is None else "removed" if new is None else "changed",
        before=old.size if old else None,
        after=new.size if new else None,
        first=first and mine.located(first),
        archs_added=tuple(sorted(theirs.archs - mine.archs)),
        archs_removed=tuple(sorted(mine.archs - theirs.archs)),
        kernels_added=tuple(sorted(theirs.kernels - mine.kernels)),
        kernels_removed=tuple(sorted(mine.kernels - theirs.kernels)),
        unread=tuple(unread),
    )


class _Contents:
    """The device code of one file, as far as it has any."""

    def __init__(self, entry: Entry | None, kernels: bool, unread: list[str]) -> None:
        self.archs: set[str] = set()
        self.kernels: set[str] = set()
        self._images = DeviceImages(())
        self._source: Source | None = None
        content = entry.content if entry else None
        if content is None or isinstance(content, InputError):
            return
        try:
            if not _has_code(content):
                return
            self._source = content
            self._images = read_images(content)
        except InputError as error:
            unread.append(str(error))
            return
        for image in self._images.usable:
            self.archs.add(_name(image))
            if not kernels or image.kind != "cubin":
                continue
            try:
                found = read_kernels(content, image)
            except (InputError, UndecodedError) as error:
                unread.append(str(error))
            else:
                self.kernels.update(f"{image.arch.sm} {name}" for name, _ in found)

    def located(self, found: Range) -> Range:
        """Return the range with what it starts in."""
        if self._source is None:
            return found
        images = (*self._images.usable, *self._images.leftover)
        around = [
            _name(each) for each in images if each.header <= found.start < each.offset + each.stored
        ]
        try:
            section = read_elf(self._source).section_at(found.start) or "headers"
        except InputError:
            section = ""
        return Range(found.start, found.end, section, next(iter(around), ""))


def _name(image: Image) -> str:
    return image.arch.compute if image.kind == "ptx" else image.arch.sm


def _has_code(source: Source) -> bool:
    return source.read(0, min(source.size, len(FATBIN))).startswith((ELF, FATBIN))


def _bytes(old: Entry, new: Entry) -> tuple[bool, Range | None]:
    """Say whether two files are the same, and where they first differ."""
    alike = old.checksum is not None and old.checksum == new.checksum
    if old.size == new.size and (alike or old.size == 0):
        return True, None
    common = min(old.size, new.size)
    if common == 0:
        return False, None
    found = first_difference(_readable(old), _readable(new), common)
    return found is None and old.size == new.size, found


def _readable(entry: Entry) -> Source:
    if isinstance(entry.content, InputError):
        raise entry.content
    return entry.content


def first_difference(one: Source, other: Source, size: int) -> Range | None:
    """Return where two files first differ in their first bytes, ``None`` for nowhere.

    Raises:
        BinaryError: One of them cannot be read.
    """
    for offset in range(0, size, _BLOCK):
        length = min(_BLOCK, size - offset)
        mine, theirs = one.read(offset, length), other.read(offset, length)
        if mine != theirs:
            start = common_prefix(mine, theirs)
            pairs = zip(mine[start : start + _LONGEST_RUN], theirs[start:], strict=False)
            run = sum(1 for _ in takewhile(lambda pair: pair[0] != pair[1], pairs))
            return Range(offset + start, offset + start + run)
    return None


def common_prefix(one: bytes, other: bytes) -> int:
    """Return how many bytes two blocks have in common at their start."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
