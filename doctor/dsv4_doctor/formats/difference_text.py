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

    from dsv4_doctor.binary.difference import Difference, FileDifference, Range

_MARKS = {"added": "+", "removed": "-", "changed": "~"}
# JSON has all kernels, and whole.
_KERNELS_SHOWN = 5
_NAME_SHOWN = 96


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
        lines.append("every file is the same; archives can still differ in times and order")
    text = "".join(f"{printable(line)}\n" for line in lines)
    return f"```\n{text.replace('```', '` ` `')}```\n" if markdown else text


def _lines(each: FileDifference, readable: Mapping[str, str]) -> Iterator[str]:
    yield f"{_MARKS[each.change]} {each.name or '(the file itself)'}  {_sizes(each)}"
    if each.first is not None:
        yield f"    first differs at {_range(each.first)}"
    elif each.change == "changed" and not each.unread:
        yield "    one is the beginning of the other"
    for title, names in (("code added", each.archs_added), ("code removed", each.archs_removed)):
        if names:
            yield f"    {title}: {' '.join(names)}"
    yield from _kernels("kernels added", each.kernels_added, readable)
    yield from _kernels("kernels removed", each.kernels_removed, readable)
    for reason in each.unread:
        yield f"    ! not compared: {reason}"


def _sizes(each: FileDifference) -> str:
    before, after = each.before, each.after
    if before is None or after is None:
        return megabytes(before if before is not None else after or 0)
    if before == after:
        return f"{megabytes(before)}, the same size"
    return f"{megabytes(before)} -> {megabytes(after)} ({after - before:+,} bytes)"


def _range(found: Range) -> str:
    image = f", image for {found.image}" if found.image else ""
    section = f" in {found.section}{image}" if found.section else ""
    return f"{found.start:#x} to {found.end:#x}{section}"


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
