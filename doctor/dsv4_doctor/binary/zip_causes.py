"""How two zip files differ beside what is in their members: times, order, modes, compression."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.binary import wheel
from dsv4_doctor.binary.causes import Cause

if TYPE_CHECKING:
    import zipfile
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from dsv4_doctor.binary.causes import CauseKind

_METHODS = {0: "stored", 8: "deflated"}


def explain_zip(before: Path, after: Path) -> tuple[Cause, ...]:
    """Return how two zip files differ beside what is in their members.

    Raises:
        BinaryError: One of them is damaged.
    """
    old, new = wheel.directory(before), wheel.directory(after)
    return tuple(_causes(old, new))


def _causes(old: list[zipfile.ZipInfo], new: list[zipfile.ZipInfo]) -> Iterator[Cause]:
    mine = {each.filename: each for each in old}
    theirs = {each.filename: each for each in new}
    both = [each for each in mine if each in theirs]
    if both != [each for each in theirs if each in mine]:
        yield Cause("order", "", "the members are in another order")
    pairs = [(mine[each], theirs[each]) for each in both]
    yield from _field(pairs, "times", _time)
    yield from _field(pairs, "modes", _mode)
    yield from _field(pairs, "compression", _method)
    recoded = [
        one.filename
        for one, other in pairs
        if (one.CRC, one.file_size, one.compress_type)
        == (other.CRC, other.file_size, other.compress_type)
        and one.compress_size != other.compress_size
    ]
    if recoded:
        detail = "the same bytes deflated to other lengths: another zlib or another level"
        yield Cause("compression", _some(recoded), detail)
    yield from _field(pairs, "generator", _creator)


def _field(
    pairs: list[tuple[zipfile.ZipInfo, zipfile.ZipInfo]],
    kind: CauseKind,
    read: Callable[[zipfile.ZipInfo], str],
) -> Iterator[Cause]:
    changed = [(one, other) for one, other in pairs if read(one) != read(other)]
    if changed:
        one, other = changed[0]
        where = _some([each.filename for each, _ in changed])
        yield Cause(kind, where, f"{read(one)} -> {read(other)}")


def _time(info: zipfile.ZipInfo) -> str:
    year, month, day, hour, minute, second = info.date_time
    return f"{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"


def _mode(info: zipfile.ZipInfo) -> str:
    return f"{info.external_attr >> 16:o}"


def _method(info: zipfile.ZipInfo) -> str:
    return _METHODS.get(info.compress_type, f"method {info.compress_type}")


def _creator(info: zipfile.ZipInfo) -> str:
    system = {0: "FAT", 3: "Unix"}.get(info.create_system, f"system {info.create_system}")
    extra = f", {len(info.extra)} bytes of extra fields" if info.extra else ""
    return f"written as {system}, version {info.create_version}, flags {info.flag_bits:#x}{extra}"


def _some(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
