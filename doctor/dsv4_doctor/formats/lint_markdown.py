"""What lint says as Markdown, for an issue: what is wrong, and the corrected command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor import __version__
from dsv4_doctor.formats.markdown_text import code, escaped, fenced
from dsv4_doctor.redact import redact_here

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.lint.linting import Server
    from dsv4_doctor.lint.problem import Problem, Status
    from dsv4_doctor.lint.report import LintReport

_HEADINGS: dict[Status, str] = {
    "fail": "Failed",
    "warn": "Worth a change",
    "unknown": "Could not be told",
}


def render(report: LintReport) -> str:
    """Return the report as Markdown that ends with a line feed.

    Home directories, user and host names, addresses and tokens are replaced.
    """
    return "\n".join(_blocks(redact_here(report))) + "\n"


def _blocks(report: LintReport) -> Iterator[str]:
    said = "nothing is wrong" if report.verdict == "pass" else "something is wrong"
    yield f"### dsv4-doctor lint {escaped(__version__)}: {said}\n"
    for note in report.notes:
        yield f"- note: {escaped(note)}"
    for server in report.servers:
        yield from _server(server, report.file)


def _server(server: Server, file: str) -> Iterator[str]:
    place = f"{file}:{server.line}" if file and server.line else file
    parts = [each for each in (place, server.where) if each]
    about = f"vLLM {server.release}, {server.flags} options, {server.variables} variables"
    named = f" {server.model}" if server.model else ""
    yield f"\n{code(f'vllm serve{named}')}: {escaped(', '.join((about, *parts)))}\n"
    for note in server.notes:
        yield f"- note: {escaped(note)}"
    if server.notes:
        yield ""
    for status, heading in _HEADINGS.items():
        problems = [each for each in server.problems if each.status == status]
        if problems:
            yield f"#### {heading}\n"
            for problem in problems:
                yield from _problem(problem, file)
    if server.fixed:
        yield f"Corrected, {len(server.fixed)} of {len(server.problems)}:\n"
        yield fenced(server.command, "sh")


def _problem(problem: Problem, file: str) -> Iterator[str]:
    # The id first: text that stands at the start of a line could be a list or a heading.
    yield f"{code(problem.id)}: {escaped(problem.title)}\n"
    if problem.found.strip():
        place = f" ({escaped(file)}:{problem.line})" if problem.line and file else ""
        yield f"- found: {code(problem.found)}{place}"
    if problem.expected.strip():
        yield f"- expected: {code(problem.expected)}"
    for source in problem.source:
        yield f"- source: {code(f'{source.citation}: {source.requirement}')}"
    if problem.do:
        yield f"- do: {escaped(problem.do)}"
    yield ""
