"""A fleet's picture as Markdown, for an issue or a channel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.fleet.drift import differing
from dsv4_doctor.fleet.hostlist import fold
from dsv4_doctor.formats.markdown_text import cell_code, code, escaped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.fleet.model import Fleet, Group


def render(fleet: Fleet) -> str:
    """Return the picture as Markdown that ends with a line feed."""
    return "\n".join(_blocks(fleet)).rstrip("\n") + "\n"


def _blocks(fleet: Fleet) -> Iterator[str]:
    counts = ", ".join(f"{count} {word}" for word, count in fleet.summary.items() if count)
    yield f"## Fleet: {fleet.verdict}\n"
    yield f"{escaped(counts)}{f'; {escaped(fleet.target)}' if fleet.target else ''}\n"
    if fleet.changes is not None:
        yield from _changes(fleet)
    for group in fleet.groups:
        yield from _group(group)
    yield from _drift(fleet)
    for each in fleet.refused:
        yield f"- not read: {code(each.origin)}: {escaped(each.reason)}"
    for twin in fleet.duplicates:
        older = f"{code(twin.origin)} is older than {code(twin.kept)}"
        yield f"- {escaped(twin.host)}: {older}"


def _changes(fleet: Fleet) -> Iterator[str]:
    changes = fleet.changes
    if changes is None:
        return
    for word, names in (
        ("newly failing", changes.failing),
        ("recovered", changes.recovered),
        ("new", changes.appeared),
        ("gone", changes.vanished),
    ):
        if names:
            yield f"- {word} since {escaped(changes.since)}: {len(names)}: {code(fold(names))}"
    yield ""


def _group(group: Group) -> Iterator[str]:
    yield f"### {group.status}: {escaped(group.title)} ({len(group.hosts)})\n"
    yield f"{code(group.id)}\n"
    for variant in group.variants:
        seen = f"found {escaped(variant.found)}" if variant.found else "found nothing"
        wanted = f", expected {escaped(variant.expected)}" if variant.expected else ""
        yield f"- {len(variant.hosts)}: {seen}{wanted}: {code(fold(variant.hosts))}"
    if group.remedy:
        yield f"\nDo: {escaped(group.remedy)}"
    for command in group.commands:
        yield f"- {code(command)}"
    yield ""


def _drift(fleet: Fleet) -> Iterator[str]:
    rows = differing(fleet.drift)
    if not rows:
        return
    yield "### Drift\n"
    yield "| fact | expected | hosts | others |"
    yield "|---|---|---:|---|"
    for each in rows:
        others = "; ".join(
            f"{escaped(other.value)}: {len(other.hosts)} ({cell_code(fold(other.hosts))})"
            for other in each.outliers
        )
        first = f"| {escaped(each.fact)} | {escaped(each.expected)} "
        yield f"{first}| {each.count}/{each.total} | {others} |"
    yield ""
