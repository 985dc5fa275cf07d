"""What differs between two wheels, directories or files, and where."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from dsv4_doctor.binary.byte_ranges import Range, first_difference, in_text, located
from dsv4_doctor.binary.causes import Cause, merge
from dsv4_doctor.binary.device_code import DeviceImages, read_images
from dsv4_doctor.binary.file_causes import explain_file
from dsv4_doctor.binary.marks import ELF, FATBIN
from dsv4_doctor.binary.payload import UndecodedError, read_kernels
from dsv4_doctor.binary.tree import is_zip, open_tree
from dsv4_doctor.binary.zip_causes import explain_zip
from dsv4_doctor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from dsv4_doctor.binary.fatbin import Image
    from dsv4_doctor.binary.source import Source
    from dsv4_doctor.binary.tree import Entry

SCHEMA = "dsv4-doctor/inspection-diff/1"


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
        causes: Why it differs, as far as that was established.
        unexplained: Parts that differ for reasons that were not established.
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
    causes: tuple[Cause, ...] = ()
    unexplained: tuple[str, ...] = ()
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
        archive: How two wheels differ beside what is in their files: times, order, modes,
            compression.
    """

    before: str
    after: str
    files: tuple[FileDifference, ...]
    same: int
    kernels: bool
    archive: tuple[Cause, ...] = ()

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
        pairs = [_pair(name, old.get(name), new.get(name)) for name in names]
        differing = {each.name: each for each in pairs if each is not None}
        files = tuple(_file(each, kernels, differing.keys()) for each in differing.values())
    archive = explain_zip(before, after) if is_zip(before) and is_zip(after) else ()
    same = len(names) - len(files)
    return Difference(str(before), str(after), files, same, kernels, archive)


@dataclass(frozen=True)
class _Pair:
    """Two files of one name that are not the same, or one that only one package has."""

    name: str
    old: Entry | None
    new: Entry | None
    first: Range | None = None
    error: InputError | None = None


def _pair(name: str, old: Entry | None, new: Entry | None) -> _Pair | None:
    if old is None or new is None:
        return _Pair(name, old, new)
    try:
        same, first = _bytes(old, new)
    except InputError as error:
        return _Pair(name, old, new, error=error)
    return None if same else _Pair(name, old, new, first)


def _file(pair: _Pair, kernels: bool, differing: Collection[str]) -> FileDifference:
    old, new = pair.old, pair.new
    unread = [] if pair.error is None else [str(pair.error)]
    mine, theirs = _Contents(old, kernels, unread), _Contents(new, kernels, unread)
    causes, unexplained = _why(pair, differing, unread)
    return FileDifference(
        name=pair.name,
        change="added" if old is None else "removed" if new is None else "changed",
        before=old.size if old else None,
        after=new.size if new else None,
        first=pair.first and mine.located(pair.first),
        causes=merge(causes),
        unexplained=tuple(dict.fromkeys(unexplained)),
        archs_added=tuple(sorted(theirs.archs - mine.archs)),
        archs_removed=tuple(sorted(mine.archs - theirs.archs)),
        kernels_added=tuple(sorted(theirs.kernels - mine.kernels)),
        kernels_removed=tuple(sorted(mine.kernels - theirs.kernels)),
        unread=tuple(dict.fromkeys(unread)),
    )


def _why(
    pair: _Pair, differing: Collection[str], unread: list[str]
) -> tuple[list[Cause], list[str]]:
    if pair.old is None or pair.new is None or pair.error is not None:
        return [], []
    try:
        return explain_file(pair.name, _readable(pair.old), _readable(pair.new), differing)
    except InputError as error:
        unread.append(str(error))
        return [], []


class _Contents:
    """The device code of one file, as far as it has any."""

    def __init__(self, entry: Entry | None, kernels: bool, unread: list[str]) -> None:
        self.archs: set[str] = set()
        self.kernels: set[str] = set()
        self._images = DeviceImages(())
        self._source: Source | None = None
        self._text: Source | None = None
        content = entry.content if entry else None
        if content is None or isinstance(content, InputError):
            return
        try:
            if not _has_code(content):
                self._text = content
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
        if self._source is not None:
            images = (*self._images.usable, *self._images.leftover)
            return located(found, self._source, images)
        return found if self._text is None else in_text(found, self._text)


def _name(image: Image) -> str:
    return image.arch.compute if image.kind == "ptx" else image.arch.sm


def _has_code(source: Source) -> bool:
    return source.peek(len(FATBIN)).startswith((ELF, FATBIN))


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
