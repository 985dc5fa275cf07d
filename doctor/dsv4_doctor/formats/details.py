"""What is said of one finding under its title, as label and text, for every format."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.report import Finding


def details(finding: Finding) -> Iterator[tuple[str, str]]:
    """Yield what was found, expected and read, what that rests on, and what to do.

    The text is as it is in the finding: a format makes it harmless in its own way.
    """
    if finding.found:
        yield "found", finding.found
    if finding.expected:
        yield "expected", finding.expected
    for evidence in finding.evidence:
        yield "read", f"{evidence.where}: {evidence.what}"
    for source in finding.source:
        yield "source", f"{source.citation}: {source.requirement}"
    if finding.remedy is not None:
        yield "do", finding.remedy.text
        for command in finding.remedy.commands:
            yield "run", command.shell()
