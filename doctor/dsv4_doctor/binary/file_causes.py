"""Why two files of one name differ: objects, static libraries, metadata, modules, texts."""

from __future__ import annotations

import csv
from collections import Counter
from typing import TYPE_CHECKING

from dsv4_doctor.binary import ar
from dsv4_doctor.binary.byte_ranges import first_difference
from dsv4_doctor.binary.causes import Cause, Explained, changed
from dsv4_doctor.binary.elf_causes import compare_elf
from dsv4_doctor.binary.line_times import as_date
from dsv4_doctor.binary.marks import AR, ELF

if TYPE_CHECKING:
    from collections.abc import Collection

    from dsv4_doctor.binary.source import Source

# A text is compared as a whole.
_LARGEST_TEXT = 8 << 20
# Magic number, flags, then time and size of the source where no flag is set.
_PYC_HEAD, _PYC_FLAGS, _PYC_TIME = 16, slice(4, 8), slice(8, 12)


def explain_file(
    name: str, old: Source, new: Source, differing: Collection[str]
) -> tuple[list[Cause], list[str]]:
    """Return why two files differ, and the parts that differ for reasons not established.

    Args:
        name: Of both.
        old: The older one.
        new: The newer one.
        differing: Names of all files that only one of both packages has, or that differ.

    Raises:
        InputError: One of them is damaged.
    """
    marks = tuple(each.peek(len(AR)) for each in (old, new))
    found = Explained()
    if all(each.startswith(ELF) for each in marks):
        compare_elf(old, new, found)
    elif all(each.startswith(AR) for each in marks):
        _library(old, new, found)
    elif max(old.size, new.size) <= _LARGEST_TEXT:
        _whole(name, old.read(0, old.size), new.read(0, new.size), differing, found)
    else:
        found.unexplained.append("the file, too large to look into")
    return found.causes, found.unexplained


def _whole(name: str, old: bytes, new: bytes, differing: Collection[str], found: Explained) -> None:
    if name.endswith(".pyc"):
        _module(old, new, found)
        return
    mine, theirs = old.splitlines(), new.splitlines()
    if name.endswith(".dist-info/RECORD") and _only_other_files(old, new, differing):
        detail = "lists the hashes of the other files that differ"
        found.causes.append(Cause("record", "", detail))
    elif mine == theirs:
        found.causes.append(Cause("line-endings", "", "the same lines with other ends"))
    elif sorted(mine) == sorted(theirs):
        found.causes.append(Cause("order", "", "the same lines in another order"))
    elif name.endswith(".dist-info/WHEEL") and _without_generator(mine) == _without_generator(
        theirs
    ):
        pair_of = changed((_generator(mine), _generator(theirs)))
        found.causes.append(Cause("generator", "", pair_of))
    elif b"\0" in old or b"\0" in new:
        found.part(old, new, "the file")
    elif not found.explains(old, new, ""):
        before, after = Counter(mine), Counter(theirs)
        gone, came = (before - after).total(), (after - before).total()
        detail = f"lines only in the older: {gone}, only in the newer: {came}"
        found.causes.append(Cause("content", "", detail))


def _module(old: bytes, new: bytes, found: Explained) -> None:
    """Explain two compiled modules (PEP 552), which note when their source was written."""
    if min(len(old), len(new)) >= _PYC_HEAD and not any(old[_PYC_FLAGS] + new[_PYC_FLAGS]):
        pair = tuple(int.from_bytes(each[_PYC_TIME], "little") for each in (old, new))
        if pair[0] != pair[1]:
            detail = f"its source was written {as_date(pair[0])} -> {as_date(pair[1])}"
            found.causes.append(Cause("times", "", detail))
        old, new = (each[: _PYC_TIME.start] + each[_PYC_TIME.stop :] for each in (old, new))
    if old != new:
        found.part(old, new, "the compiled module")


def _library(old: Source, new: Source, found: Explained) -> None:
    mine, theirs = list(ar.members(old)), list(ar.members(new))
    names = [each.name.removeprefix(old.name) for each in mine]
    others = [each.name.removeprefix(new.name) for each in theirs]
    if names != others:
        same = sorted(names) == sorted(others)
        found.unexplained.append(f"the members{' are in another order' if same else ''}")
        return
    fields = [list(ar.owners(each)) for each in (old, new)]
    if fields[0] != fields[1]:
        detail = "time, owner or mode of members in their headers"
        found.causes.append(Cause("times", "", detail))
    before = len(found.causes) + len(found.unexplained)
    for name, one, other in zip(names, mine, theirs, strict=True):
        if one.size != other.size or first_difference(one, other, one.size) is not None:
            causes, unexplained = explain_file(name, one, other, ())
            found.causes += [
                Cause(each.kind, f"{name} {each.where}", each.detail) for each in causes
            ]
            found.unexplained += [f"{name} {each}" for each in unexplained]
    if len(found.causes) + len(found.unexplained) == before and fields[0] == fields[1]:
        found.unexplained.append("the index of symbols")


def _only_other_files(old: bytes, new: bytes, differing: Collection[str]) -> bool:
    mine, theirs = _record(old), _record(new)
    rows = {*mine, *theirs}
    return all(mine.get(each) == theirs.get(each) or each in differing for each in rows)


def _record(data: bytes) -> dict[str, tuple[str, ...]]:
    try:
        rows = csv.reader(data.decode("utf-8", "replace").splitlines())
        return {row[0]: tuple(row[1:]) for row in rows if row}
    except csv.Error:
        return {}


def _generator(lines: list[bytes]) -> bytes:
    found = (each.partition(b":")[2].strip() for each in lines if each.startswith(b"Generator:"))
    return next(found, b"")


def _without_generator(lines: list[bytes]) -> list[bytes]:
    return [each for each in lines if not each.startswith(b"Generator:")]
