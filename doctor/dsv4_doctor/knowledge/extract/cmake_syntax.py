"""CMake's own syntax: from text to commands, each argument with its line.

The grammar is that of cmake-language(7): bracket, quoted and unquoted arguments, nested
parentheses, line and bracket comments.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_SPACE = re.compile(r"[ \t\r\n]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BRACKET = re.compile(r"\[(=*)\[")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_UNQUOTED = re.compile(r'(?:[^\s()#"\\]|\\.)(?:[^\s()#"\\]|\\.|"(?:[^"\\]|\\.)*")*', re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "\n": ""}


class CMakeError(ValueError):
    """The text is no CMake; the message gives the line."""


@dataclass(frozen=True)
class Argument:
    """One argument as written.

    Attributes:
        text: Escapes are resolved, references are not.
        quoted: In quotation marks or brackets, so that a list in it stays together.
        literal: In brackets, so that nothing in it is a reference.
    """

    text: str
    line: int
    quoted: bool = False
    literal: bool = False


@dataclass(frozen=True)
class Command:
    """One command.

    Attributes:
        name: In small letters.
        arguments: Parentheses inside are arguments of their own.
    """

    name: str
    arguments: tuple[Argument, ...]
    line: int


def parse(text: str) -> tuple[Command, ...]:
    """Return the commands of a CMake file.

    Raises:
        CMakeError: It breaks CMake's grammar.
    """
    return tuple(_Scanner(text).commands())


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.line = 1

    def commands(self) -> list[Command]:
        found = []
        while self._skip():
            name = self._take(_NAME)
            line = self.line
            if name is None:
                msg = "a command was expected"
                raise self._error(msg)
            self._skip()
            if not self.text.startswith("(", self.at):
                msg = f"{name[0]} has no parenthesis"
                raise self._error(msg)
            self.at += 1
            found.append(Command(name[0].lower(), self._arguments(), line))
        return found

    def _arguments(self) -> tuple[Argument, ...]:
        found: list[Argument] = []
        depth = 1
        while self._skip():
            line, sign = self.line, self.text[self.at]
            if sign in "()":
                self.at += 1
                depth += 1 if sign == "(" else -1
                if depth == 0:
                    return tuple(found)
                found.append(Argument(sign, line))
            else:
                found.append(self._argument(line))
        msg = "a parenthesis is not closed"
        raise self._error(msg)

    def _argument(self, line: int) -> Argument:
        bracket = self._bracket()
        if bracket is not None:
            return Argument(bracket.removeprefix("\n"), line, quoted=True, literal=True)
        quoted = self._take(_QUOTED)
        if quoted is not None:
            return Argument(_unescape(quoted[1]), line, quoted=True)
        plain = self._take(_UNQUOTED)
        if plain is None:
            msg = "an argument was expected"
            raise self._error(msg)
        return Argument(_unescape(plain[0]), line)

    def _skip(self) -> bool:
        """Pass white space and comments; whether anything is left."""
        while self.at < len(self.text):
            if self._take(_SPACE) is not None:
                continue
            if not self.text.startswith("#", self.at):
                return True
            self.at += 1
            if self._bracket() is None:
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
        return False

    def _bracket(self) -> str | None:
        opening = _BRACKET.match(self.text, self.at)
        if opening is None:
            return None
        end = self.text.find(f"]{opening[1]}]", opening.end())
        if end < 0:
            msg = "a bracket is not closed"
            raise self._error(msg)
        content = self.text[opening.end() : end]
        self._advance(end + len(opening[1]) + 2)
        return content

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self.text, self.at)
        if match is not None:
            self._advance(match.end())
        return match

    def _advance(self, end: int) -> None:
        self.line += self.text.count("\n", self.at, end)
        self.at = end

    def _error(self, what: str) -> CMakeError:
        return CMakeError(f"line {self.line}: {what}")


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), text)
