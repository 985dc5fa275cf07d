"""An inspection as Markdown, for an issue or a release's notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.binary.verdicts import name_of
from dsv4_doctor.formats.inspection_view import (
    Rows,
    by_arch_rows,
    by_family_rows,
    layer_rows,
    megabytes,
    short_archs,
)
from dsv4_doctor.formats.markdown_text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.binary.contents import Inspection
    from dsv4_doctor.binary.link_problems import LinkageSummary
    from dsv4_doctor.formats.inspection_view import View

_MARKS = {"present": "yes", "missing": "**no**", "unknown": "unknown"}
_CLAIMS = {"true": "yes", "false": "**no**", "unknown": "unknown"}


def render(view: View) -> str:
    """Return what was found and decided as Markdown that ends with a line feed."""
    return "\n".join(_blocks(view)) + "\n"


def _blocks(view: View) -> Iterator[str]:
    inspection = view.inspection
    yield f"## {escaped(inspection.path)}\n"
    if view.image is not None:
        yield _table(layer_rows(view.image))
        claims = tuple((c.label, c.value, _CLAIMS[c.status], c.reason) for c in view.image.claims)
        yield _table(_rows("label", "says", "true", "why", rows=claims), raw=2)
    yield _table(_objects(inspection))
    if any(each.families for each in inspection.objects):
        yield _table(_families(inspection))
    if any(each.verdicts for each in inspection.objects):
        yield _table(_verdicts(inspection))
    if inspection.linkage is not None:
        yield from _linkage(inspection.linkage)
    if view.by_arch is not None:
        yield _table(by_arch_rows(view.by_arch))
    if view.by_family is not None:
        yield _table(by_family_rows(view.by_family))
    if view.decisions:
        rows = tuple(
            (each.requirement, _MARKS[each.status], each.reason) for each in view.decisions
        )
        yield _table(_rows("required", "there", "why", rows=rows), raw=1)


def _objects(inspection: Inspection) -> Rows:
    rows = tuple(
        (
            each.name,
            megabytes(each.size),
            short_archs(each.sass),
            short_archs(each.ptx),
            "; ".join((each.error or "", *(unread.reason for unread in each.unread))).strip("; "),
        )
        for each in inspection.objects
    )
    return _rows("object", "size", "machine code", "PTX", "not read", rows=rows)


def _families(inspection: Inspection) -> Rows:
    rows = tuple(
        (found.family, str(found.kernels), found.arch, each.name)
        for each in inspection.objects
        for found in each.families
    )
    number = "number" if inspection.complete else "read"
    return _rows("kernels of", number, "machine code", "object", rows=rows)


def _verdicts(inspection: Inspection) -> Rows:
    rows = tuple(
        (name_of(found.gpu), each.name, found.runs, found.reason)
        for each in inspection.objects
        for found in each.verdicts
    )
    return _rows("GPU", "object", "runs", "why", rows=rows)


def _linkage(summary: LinkageSummary) -> Iterator[str]:
    rows = tuple((each.kind, each.object or "-", each.reason) for each in summary.problems)
    if rows:
        yield _table(_rows("linkage", "object", "what is wrong", rows=rows))
    else:
        yield "Nothing wrong found in how it is linked.\n"
    for each in summary.unknown:
        yield f"- not established: {escaped(each)}"
    if summary.unknown:
        yield ""


def _rows(*titles: str, rows: tuple[tuple[str, ...], ...]) -> Rows:
    return Rows(tuple((title, False) for title in titles), rows)


def _table(rows: Rows, raw: int | None = None) -> str:
    """Return a table; the cells of column ``raw`` are Markdown already."""
    lines = [
        f"| {' | '.join(title for title, _ in rows.columns)} |",
        f"| {' | '.join('---:' if numeric else '---' for _, numeric in rows.columns)} |",
    ]
    for row in rows.rows:
        cells = (cell if at == raw else escaped(cell) for at, cell in enumerate(row))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
