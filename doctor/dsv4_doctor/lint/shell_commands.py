"""The simple commands of a shell text, with the variables that the text sets before each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dsv4_doctor.lint.model import Setting, Word
from dsv4_doctor.lint.shell import split

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dsv4_doctor.lint.shell import Part, Token

_ENDS = frozenset({"\n", ";", ";;", "&", "&&", "|", "||", "(", ")"})
_REDIRECTIONS = frozenset({"<", ">", ">>", "<<", "<<-", "<<<", ">&", "<&", "<>", ">|", "&>", "&>>"})
_KEYWORDS = frozenset({"if", "then", "else", "elif", "while", "until", "do", "!", "{", "time"})
_EXPORTS = frozenset({"export", "declare", "typeset", "readonly", "local"})
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=", re.DOTALL)


@dataclass(frozen=True)
class Simple:
    """One command: its words, and the environment that the text gives it."""

    words: tuple[Word, ...]
    environment: tuple[Setting, ...]
    line: int


def commands(text: str, known: Mapping[str, str] | None = None) -> tuple[Simple, ...]:
    """Return the simple commands of a text in their order.

    Args:
        text: A script, or one command line.
        known: Variables that are set from outside, such as by ``ENV`` of a Dockerfile.

    Raises:
        ShellError: The text cannot be read.
    """
    return tuple(_Walk(dict(known or {})).walk(split(text).tokens))


class _Walk:
    def __init__(self, known: dict[str, str]) -> None:
        self.values: dict[str, tuple[str, ...] | None] = {
            name: (value,) for name, value in known.items()
        }
        self.exported: dict[str, Setting] = {}
        self.lines: dict[str, int] = {}

    def walk(self, found: tuple[Token, ...]) -> Iterator[Simple]:
        at = 0
        while at < len(found):
            end = at
            while end < len(found) and found[end].operator not in _ENDS:
                end += 1
            array = self._array(found, at, end)
            if array:
                at = array
                continue
            yield from self._simple(found[at:end])
            at = end + 1

    def _array(self, found: tuple[Token, ...], at: int, end: int) -> int:
        """Take ``NAME=( … )`` and return what follows it, 0 when there is none here."""
        last = found[end - 1] if end > at else None
        named = _ASSIGNMENT.fullmatch(last.raw) if last is not None else None
        if named is None or end >= len(found) or found[end].operator != "(":
            return 0
        close = next((i for i in range(end, len(found)) if found[i].operator == ")"), len(found))
        words = [
            word
            for each in found[end + 1 : close]
            if not each.operator
            for word in self._expanded(each)
        ]
        before = self.values.get(named[1]) or () if named[2] else ()
        known = all(word.literal for word in words)
        self.values[named[1]] = (*before, *(word.text for word in words)) if known else None
        return close + 1

    def _simple(self, found: tuple[Token, ...]) -> Iterator[Simple]:
        kept = _without_redirections(found)
        while kept and kept[0].raw in _KEYWORDS:
            kept = kept[1:]
        own: list[Setting] = []
        while kept and _ASSIGNMENT.match(kept[0].raw):
            own += self._assign(kept[0])
            kept = kept[1:]
        if not kept:
            self._keep(own)
            return
        if kept[0].raw in _EXPORTS:
            self._export(kept[1:])
            return
        if kept[0].raw == "unset":
            for each in kept[1:]:
                self.values.pop(each.raw, None)
                self.exported.pop(each.raw, None)
            return
        words = tuple(word for each in kept for word in self._expanded(each))
        environment = (*self.exported.values(), *own)
        if words:
            yield Simple(words, environment, kept[0].line)

    def _assign(self, token: Token) -> list[Setting]:
        match = _ASSIGNMENT.match(token.raw)
        if match is None:
            return []
        words = self._joined(token)
        value = words.text[match.end() :] if words.literal else None
        return [Setting(match[1], value, token.line, "the shell")]

    def _keep(self, settings: list[Setting]) -> None:
        for each in settings:
            self.values[each.name] = None if each.value is None else (each.value,)
            if each.name in self.exported:
                self.exported[each.name] = each
            self.lines[each.name] = each.line

    def _export(self, found: tuple[Token, ...]) -> None:
        for token in found:
            if _ASSIGNMENT.match(token.raw):
                settings = self._assign(token)
                self._keep(settings)
                self.exported |= {each.name: each for each in settings}
            elif token.raw in self.values:
                value = self.values[token.raw]
                line = self.lines.get(token.raw, token.line)
                joined = " ".join(value) if value is not None else None
                self.exported[token.raw] = Setting(token.raw, joined, line, "the shell")

    def _joined(self, token: Token) -> Word:
        """Expand a token as an assignment does: without splitting it."""
        text, literal = "", True
        for part in token.parts:
            value = self._value(part)
            text += part_text(part) if value is None else " ".join(value)
            literal = literal and value is not None
        return Word(text, token.line, literal, token.raw)

    def _value(self, part: Part) -> tuple[str, ...] | None:
        if part.kind == "text":
            return (part.text,)
        if part.kind == "unknown":
            return None
        if part.text in self.values:
            return self.values[part.text]
        return (part.default,) if part.default is not None else None

    def _expanded(self, token: Token) -> Iterator[Word]:
        """Expand a token to the words that it becomes."""
        if all(part.kind == "text" for part in token.parts):
            yield Word("".join(part.text for part in token.parts), token.line, raw=token.raw)
            return
        pieces: list[str] = [""]
        literal, anything = True, False
        for part in token.parts:
            value = self._value(part)
            if value is None:
                literal, value = False, (part_text(part),)
            anything = anything or part.kind == "text" or part.quoted
            several = list(value)
            if part.kind == "variable" and not part.quoted:
                joined = " ".join(value)
                several = joined.split() or [""]
            elif not part.every:
                several = [" ".join(value)]
            if several:
                pieces[-1] += several[0]
                pieces += several[1:]
        if len(pieces) == 1 and not pieces[0] and not anything:
            return
        for piece in pieces:
            yield Word(piece, token.line, literal, token.raw)


def part_text(part: Part) -> str:
    """Return a part whose value is not known as it may be shown."""
    return f"${{{part.text}}}" if part.kind == "variable" else part.text


def _without_redirections(found: tuple[Token, ...]) -> tuple[Token, ...]:
    kept: list[Token] = []
    skip = False
    for at, token in enumerate(found):
        if skip:
            skip = False
        elif token.operator in _REDIRECTIONS:
            if at and kept and kept[-1].raw.isdecimal() and kept[-1] is found[at - 1]:
                kept.pop()  # The "2" of "2>&1".
            skip = True
        elif not token.operator:
            kept.append(token)
    return tuple(kept)
