"""The conditions of CMake's ``if``, where a part that is not known makes no guess.

Every value is true, false or ``None`` for not known; ``AND`` and ``OR`` go on where one side
decides alone.
"""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from dsv4_doctor.knowledge.extract.cmake_syntax import CMakeError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_FALSE = frozenset({"", "0", "OFF", "NO", "FALSE", "N", "IGNORE", "NOTFOUND"})
_TRUE = frozenset({"1", "ON", "YES", "TRUE", "Y"})
_UNARY = frozenset(
    {"EXISTS", "COMMAND", "IS_ABSOLUTE", "IS_DIRECTORY", "IS_SYMLINK", "TARGET", "POLICY", "TEST"}
)
_NAME = re.compile(r"[A-Za-z_]\w*")
_VERSION = re.compile(r"\d+(?:\.\d+)*")


@dataclass(frozen=True)
class Token:
    """One argument of ``if`` after references were expanded.

    Attributes:
        text: ``None`` when a reference in it is not known.
    """

    text: str | None
    line: int
    quoted: bool = False


class Lookup(Protocol):
    """What a condition asks of the variables."""

    def __call__(self, name: str, /) -> tuple[bool, str | None]:
        """Whether a variable is set here, and its value when it is known."""


def _numbers(text: str) -> tuple[int, ...] | None:
    match = _VERSION.match(text)
    if match is None:
        return None
    numbers = [int(part) for part in match[0].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def _versions(
    compare: Callable[[tuple[int, ...], tuple[int, ...]], bool],
) -> Callable[[str, str], bool | None]:
    def decide(left: str, right: str) -> bool | None:
        first, second = _numbers(left), _numbers(right)
        return None if first is None or second is None else compare(first, second)

    return decide


def _matches(left: str, right: str) -> bool | None:
    try:
        return re.search(right, left) is not None
    except re.error:
        return None


_COMPARISONS: dict[str, Callable[[str, str], bool | None]] = {
    "STREQUAL": lambda left, right: left == right,
    "STRLESS": lambda left, right: left < right,
    "STRGREATER": lambda left, right: left > right,
    "MATCHES": _matches,
    "IN_LIST": lambda left, right: left in right.split(";"),
}
for _name, _compare in {
    "EQUAL": operator.eq,
    "LESS": operator.lt,
    "LESS_EQUAL": operator.le,
    "GREATER": operator.gt,
    "GREATER_EQUAL": operator.ge,
}.items():
    _COMPARISONS[_name] = _COMPARISONS[f"VERSION_{_name}"] = _versions(_compare)


def evaluate(tokens: Sequence[Token], lookup: Lookup) -> bool | None:
    """Decide a condition.

    Raises:
        CMakeError: It breaks CMake's grammar.
    """
    parser = _Parser(tokens, lookup)
    value = parser.either()
    if parser.at != len(tokens):
        raise parser.error()
    return value


class _Parser:
    def __init__(self, tokens: Sequence[Token], lookup: Lookup) -> None:
        self.tokens = tokens
        self.lookup = lookup
        self.at = 0

    def either(self) -> bool | None:
        value = self._both()
        while self._word() == "OR":
            self.at += 1
            right = self._both()
            value = True if value or right else (None if None in {value, right} else False)
        return value

    def _both(self) -> bool | None:
        value = self._negated()
        while self._word() == "AND":
            self.at += 1
            right = self._negated()
            false = value is False or right is False
            value = False if false else (None if None in {value, right} else True)
        return value

    def _negated(self) -> bool | None:
        if self._word() == "NOT":
            self.at += 1
            value = self._negated()
            return None if value is None else not value
        return self._test()

    def _test(self) -> bool | None:
        word = self._word()
        if word == "(":
            self.at += 1
            value = self.either()
            self._take()
            return value
        if word == "DEFINED" and self.at + 1 < len(self.tokens):
            self.at += 1
            variable = self._take().text or ""
            return None if "{" in variable or not self.lookup(variable)[0] else True
        if word in _UNARY and self.at + 1 < len(self.tokens):
            self.at += 2
            return None
        left = self._take()
        comparison = _COMPARISONS.get(self._word() or "")
        if comparison is None:
            return self._truth(left)
        listed = self._word() == "IN_LIST"
        self.at += 1
        first = self._value(left, variable=True)
        second = self._operand(self._take(), listed=listed)
        return None if first is None or second is None else comparison(first, second)

    def _operand(self, token: Token, *, listed: bool) -> str | None:
        if listed:  # The right side of IN_LIST is always a variable.
            return self.lookup(token.text)[1] if token.text is not None else None
        return self._value(token)

    def _value(self, token: Token, *, variable: bool = False) -> str | None:
        if token.text is None or token.quoted:
            return token.text
        is_set, value = self.lookup(token.text)
        # A name on the left that nothing here set comes from CMake or torch: it is not known.
        unset = None if variable and _NAME.fullmatch(token.text) else token.text
        return value if is_set else unset

    def _truth(self, token: Token) -> bool | None:
        if token.text is None:
            return None
        upper = token.text.upper()
        if upper in _FALSE or upper.endswith("-NOTFOUND"):
            return False
        if upper in _TRUE or token.text.isdecimal():
            return True
        value = self.lookup(token.text)[1] if not token.quoted else None
        return None if value is None else not (value.upper() in _FALSE or "NOTFOUND" in value)

    def _word(self) -> str | None:
        if self.at >= len(self.tokens) or self.tokens[self.at].quoted:
            return None
        return self.tokens[self.at].text

    def _take(self) -> Token:
        if self.at >= len(self.tokens):
            raise self.error()
        self.at += 1
        return self.tokens[self.at - 1]

    def error(self) -> CMakeError:
        line = self.tokens[-1].line if self.tokens else 0
        return CMakeError(f"line {line}: a condition cannot be read")
