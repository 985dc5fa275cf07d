"""From lines that may say something to hits: a signature, the line, the facts in it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dsv4_doctor.logs.prefixes import Stripped, strip

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsv4_doctor.knowledge.signature import Signature
    from dsv4_doctor.logs.scan import Candidate

# A line that says of itself that it is no error.
_TOLERATED = re.compile(
    r"\b\w*Warning: |\bwarning:|CMake Warning|\b[Ii]gnor(?:e|ing) import error|\[WARNING\]"
)

# What a line that is close enough to an error to be shown, when nothing better is known, contains;
# the last line of a traceback says the most.
TELLING_GATES = (b"rror", b"ERROR", b"xception", b"FAILED", b"ailed", b"atal", b"illed", b"abort")
TELLING = re.compile(
    r"(?P<exception>^[\w.]{0,80}(?:Error|Exception)\b)|\berror\b|\bERROR\b|\bFAILED\b"
    r"|\b[Ff]atal\b|\bKilled\b|\babort(?:ed)?\b|\bfailed\b",
    re.ASCII,
)

_LONGEST = 400
# Share of characters from which on a line is no text, in which three letters mean nothing.
_UNREADABLE = 0.1


@dataclass(frozen=True)
class Hit:
    """A signature that matched a line.

    Attributes:
        number: Of the line, counted from 1.
        text: The line without its prefixes, shortened.
        stream: Process or step that wrote it.
        tolerated: Whether the line calls itself a warning or less, and that matters.
        facts: The named groups.
        unit: What was being built, as far as it is known.
    """

    signature: Signature
    number: int
    text: str
    stream: str
    tolerated: bool
    facts: dict[str, str] = field(default_factory=dict)
    unit: str = ""


@dataclass(frozen=True)
class Telling:
    """A line that looks like an error and that no signature knows."""

    number: int
    text: str
    exception: bool


class Matcher:
    """Matches candidates against signatures."""

    def __init__(self, signatures: Iterable[Signature]) -> None:
        self._by_literal: dict[bytes, list[Signature]] = {}
        for each in signatures:
            for literal in each.literals:
                self._by_literal.setdefault(literal.encode(), []).append(each)

    @property
    def literals(self) -> tuple[bytes, ...]:
        """What the scanner has to look for."""
        return tuple(self._by_literal)

    def match(self, candidate: Candidate) -> list[Hit]:
        """Return the hits of one line: the most exact ones, and how things ended."""
        literals = candidate.literals
        if literals is None:
            literals = tuple(each for each in self._by_literal if each in candidate.line)
        found = {id(each): each for literal in literals for each in self._known(literal)}
        if not found:
            return []
        line = stripped(candidate)
        if unreadable(line.text):
            found = {key: each for key, each in found.items() if each.role == "cause"}
        hits = [hit for each in found.values() if (hit := _hit(each, line, candidate)) is not None]
        best = max((each.signature.weight for each in hits), default=0)
        # That something succeeded or failed stays true whatever else its line says.
        return [
            each
            for each in hits
            if each.signature.weight == best or each.signature.role in {"success", "consequence"}
        ]

    def _known(self, literal: bytes) -> list[Signature]:
        return self._by_literal.get(literal, [])


def stripped(candidate: Candidate) -> Stripped:
    """Return the line of a candidate without prefixes."""
    return strip(_decoded(candidate.line))


def telling(candidate: Candidate) -> Telling | None:
    """Return the line if it looks like an error."""
    line = stripped(candidate)
    if line.level in {"debug", "info", "warning"} or _TOLERATED.search(line.text):
        return None
    match = TELLING.search(line.text)
    if match is None or unreadable(line.text):
        return None
    return Telling(candidate.number, shortened(line.text), match["exception"] is not None)


def unreadable(text: str) -> bool:
    """Whether a line is no text."""
    strange = sum(1 for each in text if not each.isprintable() or each == "\ufffd")
    return strange > _UNREADABLE * len(text)


def shortened(text: str, at: int = 0) -> str:
    """Return a line of at most some hundred characters, with what stands at ``at``."""
    if len(text) <= _LONGEST:
        return text
    start = max(min(at - _LONGEST // 4, len(text) - _LONGEST), 0)
    end = start + _LONGEST
    return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")


def _hit(signature: Signature, line: Stripped, candidate: Candidate) -> Hit | None:
    text = line.text
    for following in candidate.after[: signature.joined]:
        # Rich, pip and terminals break a message at the width that they have.
        text += f"\n{strip(_decoded(following)).text}"
    match = next((m for each in signature.patterns if (m := each.search(text))), None)
    if match is None or any(each.search(line.text) for each in signature.unless):
        return None
    if signature.beside and not _beside(signature, candidate):
        return None
    mild = line.level in {"debug", "info", "warning"} or bool(_TOLERATED.search(line.text))
    return Hit(
        signature=signature,
        number=candidate.number,
        text=shortened(line.text, match.start()),
        stream=line.stream,
        tolerated=mild and not signature.tolerated,
        facts={name: value for name, value in match.groupdict().items() if value is not None},
    )


def _beside(signature: Signature, candidate: Candidate) -> bool:
    lines = (candidate.line, *candidate.after, *candidate.before)
    return any(each.search(_decoded(line)) for line in lines for each in signature.beside)


def _decoded(raw: bytes) -> str:
    # A progress bar writes over its own line; what was written last stands there.
    text = raw.decode("utf-8", "replace").rstrip("\r\n ")
    return text.rpartition("\r")[2] if "\r" in text else text
