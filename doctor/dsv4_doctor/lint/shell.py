"""A shell text, read into words as far as nothing has to be run for that.

Quotes, continuations, comments, variables that the text itself sets and here-documents are
understood; what a command substitution gives is not known and not guessed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

_OPERATORS = (
    *("&&", "||", ";;", "&>>", "&>", "<<<", "<<-", "<<", ">>", ">&", "<&", "<>", ">|"),
    *(";", "&", "|", "(", ")", "<", ">"),
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BRACED = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)(?:(\[@\]|\[\*\])|:?-([^{}$`\"']*))?\}")
_BLANK = " \t\r"


class ShellError(Exception):
    """The text is no shell text that can be read; the message says what and in which line."""


@dataclass(frozen=True)
class Part:
    """A piece of a word.

    Attributes:
        kind: ``text`` as it stands, ``variable`` by name, or ``unknown`` for what has to be run.
        quoted: Whether it stays one word whatever is in it.
        default: What a variable is when nothing sets it, ``None`` where the text does not say.
        every: Whether all elements of an array are meant.
    """

    kind: Literal["text", "variable", "unknown"]
    text: str
    quoted: bool = False
    default: str | None = None
    every: bool = False


@dataclass(frozen=True)
class Token:
    """A word, an operator, or the end of a line (operator ``\\n``)."""

    operator: str
    parts: tuple[Part, ...]
    raw: str
    line: int


@dataclass(frozen=True)
class HereDocument:
    """The lines that a command reads from the text itself; ``line`` is the first of them."""

    text: str
    line: int


@dataclass(frozen=True)
class Shell:
    """A text, split."""

    tokens: tuple[Token, ...]
    here: tuple[HereDocument, ...]


def split(text: str) -> Shell:
    """Split a shell text.

    Raises:
        ShellError: A quote or a bracket is not closed, or they are nested too deep.
    """
    reader = _Reader(text)
    try:
        return Shell(tuple(reader.read()), tuple(reader.here))
    except RecursionError as error:
        msg = f"line {reader.line}: nested too deep"
        raise ShellError(msg) from error


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text.replace("\r\n", "\n")
        self.at = 0
        self.line = 1
        self.found: list[Token] = []
        self.pending: list[tuple[str, bool]] = []
        self.here: list[HereDocument] = []

    def read(self) -> list[Token]:
        while self.at < len(self.text):
            self._step()
        return self.found

    def _step(self) -> None:
        text, at = self.text, self.at
        if text.startswith("\\\n", at):
            self._skip(2)
        elif text[at] in _BLANK:
            self._skip(1)
        elif text[at] == "\n":
            self.found.append(Token("\n", (), "\n", self.line))
            self._skip(1)
            self._here_documents()
        elif text[at] == "#":
            end = text.find("\n", at)
            self.at = len(text) if end < 0 else end
        else:
            operator = next((each for each in _OPERATORS if text.startswith(each, at)), "")
            if operator:
                self.found.append(Token(operator, (), operator, self.line))
                self._skip(len(operator))
            else:
                self._word()

    def _skip(self, count: int) -> str:
        piece = self.text[self.at : self.at + count]
        self.line += piece.count("\n")
        self.at += count
        return piece

    def _word(self) -> None:
        start, line, parts = self.at, self.line, []
        while self.at < len(self.text):
            sign = self.text[self.at]
            if sign in _BLANK + "\n" or self.text.startswith(_OPERATORS, self.at):
                break
            parts += self._part(sign)
        token = Token("", tuple(parts), self.text[start : self.at], line)
        if self.found and self.found[-1].operator in {"<<", "<<-"}:
            bare = "".join(part.text for part in parts)
            self.pending.append((bare, self.found[-1].operator == "<<-"))
        self.found.append(token)

    def _part(self, sign: str) -> list[Part]:
        if sign == "\\":
            piece = self._skip(2)
            return [] if piece == "\\\n" else [Part("text", piece[1:] or "\\", quoted=True)]
        if sign == "'":
            return [Part("text", self._until("'"), quoted=True)]
        if sign == '"':
            return self._double()
        if sign in "$`":
            return [self._expansion(quoted=False)]
        return [Part("text", self._skip(1))]

    def _until(self, quote: str) -> str:
        line = self.line
        end = self.text.find(quote, self.at + 1)
        if end < 0:
            msg = f"line {line}: {quote} is not closed"
            raise ShellError(msg)
        return self._skip(end + 1 - self.at)[1:-1]

    def _double(self) -> list[Part]:
        line = self.line
        self._skip(1)
        parts: list[Part] = [Part("text", "", quoted=True)]
        while self.at < len(self.text):
            sign = self.text[self.at]
            if sign == '"':
                self._skip(1)
                return parts
            if sign == "\\":
                piece = self._skip(2)
                if piece != "\\\n":
                    kept = piece[1:] if piece[1:] in {'"', "\\", "$", "`"} else piece
                    parts.append(Part("text", kept, quoted=True))
            elif sign in "$`":
                parts.append(self._expansion(quoted=True))
            else:
                parts.append(Part("text", self._skip(1), quoted=True))
        msg = f'line {line}: " is not closed'
        raise ShellError(msg)

    def _expansion(self, *, quoted: bool) -> Part:
        text, at = self.text, self.at
        if text[at] == "`":
            return Part("unknown", self._backquoted(), quoted)
        if text.startswith("$'", at) and not quoted:
            self._skip(1)
            return Part("text", self._until("'"), quoted=True)
        braced = _BRACED.match(text, at + 1)
        if braced is not None:
            self._skip(braced.end() - at)
            name, every, default = braced.groups()
            return Part("variable", name, quoted, default, every is not None)
        if text[at + 1 : at + 2] in {"(", "{"}:
            return Part("unknown", self._bracketed(quoted=quoted), quoted)
        return self._named(quoted=quoted)

    def _named(self, *, quoted: bool) -> Part:
        """Take ``$NAME``, one of the shell's own such as ``$@``, or a plain dollar sign."""
        name = _NAME.match(self.text, self.at + 1)
        if name is not None:
            self._skip(name.end() - self.at)
            return Part("variable", name[0], quoted)
        following = self.text[self.at + 1 : self.at + 2]
        if following and following in "@*#?$!-0123456789":
            return Part("unknown", self._skip(2), quoted)
        return Part("text", self._skip(1), quoted)

    def _backquoted(self) -> str:
        line, start = self.line, self.at
        self._skip(1)
        while self.at < len(self.text):
            sign = self.text[self.at]
            self._skip(2 if sign == "\\" else 1)
            if sign == "`":
                return self.text[start : self.at]
        msg = f"line {line}: ` is not closed"
        raise ShellError(msg)

    def _bracketed(self, *, quoted: bool) -> str:
        """Take ``$(…)`` or ``${…}`` with everything that is in it."""
        line, start, depth = self.line, self.at, 0
        # Within double quotes an apostrophe in ``${…}`` stands for itself.
        single = not (quoted and self.text.startswith("${", self.at))
        self._skip(1)
        while self.at < len(self.text):
            sign = self.text[self.at]
            if sign == "\\":
                self._skip(2)
            elif sign == "'" and single:
                self._until("'")
            elif sign == '"':
                self._double()
            elif sign == "`":
                self._backquoted()
            else:
                depth += (sign in "({") - (sign in ")}")
                self._skip(1)
                if depth == 0:
                    return self.text[start : self.at]
        msg = f"line {line}: a bracket after $ is not closed"
        raise ShellError(msg)

    def _here_documents(self) -> None:
        for delimiter, tabs in self.pending:
            start, at = self.line, self.at
            end = at
            while self.at < len(self.text):
                end = self.at
                stop = self.text.find("\n", self.at)
                stop = len(self.text) if stop < 0 else stop
                line = self.text[self.at : stop]
                self._skip(min(stop + 1, len(self.text)) - self.at)
                if (line.lstrip("\t") if tabs else line) == delimiter:
                    break
            else:
                end = self.at
            self.here.append(HereDocument(self.text[at:end], start))
        self.pending = []
