"""The difference of two inspections, for a person and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dsv4_doctor import __version__
from dsv4_doctor.binary.demangle import demangle
from dsv4_doctor.formats.inspection_view import megabytes
from dsv4_doctor.formats.plain import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dsv4_doctor.binary.byte_ranges import Range
    from dsv4_doctor.binary.causes import Cause, CauseKind
    from dsv4_doctor.binary.difference import Difference, FileDifference

_MARKS = {"added": "+", "removed": "-", "changed": "~"}
# JSON has everything, and whole.
_KERNELS_SHOWN = 5
_PARTS_SHOWN = 5
_NAME_SHOWN = 96
_CAUSES: dict[CauseKind, str] = {
    "temporary-names": "name of the compiler's temporary file",
    "module-ids": "nvcc's hash of the source's path",
    "paths": "paths of the build",
    "times": "times",
    "compiler": "version of a compiler",
    "options": "options of a compiler",
    "compression": "compression",
    "build-id": "build id",
    "offsets": "offsets",
    "device-code": "other images",
    "record": "RECORD",
    "generator": "what wrote the wheel",
    "order": "order",
    "line-endings": "ends of lines",
    "modes": "permissions",
    "content": "another text",
}


def render_json(found: Difference) -> str:
    """Return a difference as indented JSON that ends with a line feed."""
    document = found.to_json()
    head = {"schema": document.pop("schema")}
    tool = {"tool": {"name": "dsv4-doctor", "version": __version__}}
    return json.dumps({**head, **tool, **document}, indent=2, ensure_ascii=False) + "\n"


def render(found: Difference, *, markdown: bool = False) -> str:
    """Return a difference as lines; in Markdown, as a block that is shown as it is."""
    lines = [f"{found.before} -> {found.after}"]
    readable = demangle(_names(found))
    for each in found.files:
        lines += _lines(each, readable)
    changes = ("added", "removed", "changed")
    counts = [f"{sum(each.change == kind for each in found.files)} {kind}" for kind in changes]
    lines.append(f"{', '.join(counts)}, {found.same} the same")
    if not found.files:
        lines.append("every file is the same")
    lines += [f"the archives differ in {_cause(each)}" for each in found.archive]
    text = "".join(f"{printable(line)}\n" for line in lines)
    return f"```\n{text.replace('```', '` ` `')}```\n" if markdown else text


def _lines(each: FileDifference, readable: Mapping[str, str]) -> Iterator[str]:
    yield f"{_MARKS[each.change]} {each.name or '(the file itself)'}  {_sizes(each)}"
    if each.first is not None:
        yield f"    first differs at {_range(each.first)}"
    elif each.change == "changed" and not each.unread:
        yield "    one is the beginning of the other"
    yield from _why(each)
    for title, names in (("code added", each.archs_added), ("code removed", each.archs_removed)):
        if names:
            yield f"    {title}: {' '.join(names)}"
    yield from _kernels("kernels added", each.kernels_added, readable)
    yield from _kernels("kernels removed", each.kernels_removed, readable)
    for reason in each.unread:
        yield f"    ! not compared: {reason}"


def _why(each: FileDifference) -> Iterator[str]:
    for cause in each.causes:
        yield f"    why: {_cause(cause)}"
    if each.unexplained:
        shown = "; ".join(each.unexplained[:_PARTS_SHOWN])
        more = len(each.unexplained) - _PARTS_SHOWN
        yield f"    why: not established for {shown}{f'; and {more} more' if more > 0 else ''}"


def _cause(each: Cause) -> str:
    places = each.where.split("; ") if each.where else []
    more = f" and {len(places) - _PARTS_SHOWN} more" if len(places) > _PARTS_SHOWN else ""
    where = f" in {', '.join(places[:_PARTS_SHOWN])}{more}" if places else ""
    return f"{_CAUSES[each.kind]}{where}: {each.detail}"


def _sizes(each: FileDifference) -> str:
    before, after = each.before, each.after
    if before is None or after is None:
        return megabytes(before if before is not None else after or 0)
    if before == after:
        return f"{megabytes(before)}, the same size"
    return f"{megabytes(before)} -> {megabytes(after)} ({after - before:+,} bytes)"


def _range(found: Range) -> str:
    image = f", image for {found.image}" if found.image else ""
    symbol = f", {found.symbol}" if found.symbol else ""
    section = f" in {found.section}{image}{symbol}" if found.section else ""
    amount = found.end - found.start
    length = f"{amount:,} byte{'' if amount == 1 else 's'}"
    return f"{found.start:#x}, {length}{section}"


def _names(found: Difference) -> Iterator[str]:
    for each in found.files:
        for kernels in (each.kernels_added, each.kernels_removed):
            yield from (name.partition(" ")[2] for name in kernels[:_KERNELS_SHOWN])


def _kernels(title: str, names: tuple[str, ...], readable: Mapping[str, str]) -> Iterator[str]:
    if not names:
        return
    yield f"    {title}: {len(names)}"
    for each in names[:_KERNELS_SHOWN]:
        arch, _, name = each.partition(" ")
        shown = f"{arch} {readable.get(name, name)}"
        yield f"      {shown if len(shown) <= _NAME_SHOWN else f'{shown[:_NAME_SHOWN]}…'}"
    if len(names) > _KERNELS_SHOWN:
        yield f"      and {len(names) - _KERNELS_SHOWN} more"
