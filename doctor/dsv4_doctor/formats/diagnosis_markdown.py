"""A diagnosis as Markdown, ready to be pasted into a public issue: facts, cause, redacted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor import __version__
from dsv4_doctor.formats.markdown_text import escaped, fenced
from dsv4_doctor.formats.plain import printable
from dsv4_doctor.redact import redact_here

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.logs.diagnosis import Cause, Diagnosis, Line


def render(diagnosis: Diagnosis) -> str:
    """Return what was said as Markdown that ends with a line feed.

    Home directories, user and host names, addresses and tokens are replaced.
    """
    return "\n".join(_blocks(redact_here(diagnosis))) + "\n"


def _blocks(diagnosis: Diagnosis) -> Iterator[str]:
    name = diagnosis.source.rpartition("/")[2]
    yield f"## What stands in {_text(name)}\n"
    yield f"{diagnosis.lines} lines, read by dsv4-doctor {__version__}.\n"
    for note in diagnosis.notes:
        yield f"- {_text(note)}\n"
    if not diagnosis.causes:
        yield "No known cause was found.\n"
        if diagnosis.success is not None:
            success = diagnosis.success
            yield f"It ends with success: {_text(success.title)} (line {success.line}).\n"
    for position, cause in enumerate(diagnosis.causes):
        yield from _cause(cause, "First cause" if position == 0 else "Independent of it")
    for hint in diagnosis.hints:
        yield from _cause(hint, "Perhaps")
    yield from _rest(diagnosis)


def _rest(diagnosis: Diagnosis) -> Iterator[str]:
    if diagnosis.remarks:
        yield "### Besides\n"
        for remark in diagnosis.remarks:
            title = f"{_text(remark.title)} (line {remark.line.number})"
            yield f"- {title}: {_text(remark.explanation)}"
        yield ""
    if diagnosis.overcome:
        yield "### Overcome\n"
        for each in diagnosis.overcome:
            yield f"- {_text(each.title)} (line {each.line})"
        yield ""
    if diagnosis.telling:
        yield "### The lines that say the most\n"
        yield _quoted(diagnosis.telling)


def _cause(cause: Cause, rank: str) -> Iterator[str]:
    yield f"### {rank}: {_text(cause.title)}\n"
    yield f"`{cause.id}`, stage {cause.stage}, confidence {cause.confidence}, {cause.count} lines\n"
    yield _quoted(cause.lines)
    yield f"{_text(cause.explanation)}\n"
    if cause.established:
        yield f"Established: {_text(cause.established)}\n"
    for name, value in cause.facts.items():
        yield f"- {_text(name)}: {_text(value)}"
    for unit in cause.units:
        yield f"- while building {_text(unit)}"
    for known in cause.known:
        yield f"- check `{known.id}`: {known.status}, {_text(known.title)}"
    for each in cause.followed:
        yield f"- followed: {_text(each.title)} (line {each.line})"
    if cause.sources:
        yield f"- similar: {_text(', '.join(cause.sources))}"
    yield ""
    if cause.remedy is not None:
        yield f"What to do: {_text(cause.remedy.text)}\n"
        commands = [printable(each.shell()) for each in cause.remedy.commands]
        if commands:
            yield fenced("\n".join(commands), "sh")


def _quoted(lines: tuple[Line, ...]) -> str:
    shown = (f"{each.number}: {printable(each.text)}" for each in lines)
    return fenced("\n".join(shown), "text")


def _text(text: str) -> str:
    """Return text that Markdown shows as it is, on one line."""
    return escaped(" ".join(text.split()))
