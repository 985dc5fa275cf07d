"""The words after ``vllm serve`` as its parser takes them: argparse, and what vLLM adds to it.

Source: ``FlexibleArgumentParser`` in ``vllm/utils/argparse_utils.py`` of 0.33.0 (``vllm/utils.py``
of 0.7.2), and ``ArgumentParser._parse_optional`` and ``_get_option_tuples`` of Python's argparse.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.flags import find

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dsv4_doctor.knowledge.flags import ServeFlag
    from dsv4_doctor.lint.model import Word

How = Literal["exact", "abbreviated", "ambiguous", "unknown"]

_NEGATIVE = re.compile(r"-\d+|-\d*\.\d+")
_MANY = frozenset({"+", "*"})
_WITHOUT_VALUE = frozenset({"switch", "bool"})


@dataclass(frozen=True)
class Given:
    """One option of a command line.

    Attributes:
        word: As it stands, with a value after ``=`` where it has one.
        name: The option that it names, dashes for underscores, without a value.
        flag: What the release has for it, ``None`` for nothing.
        how: How the parser came to that.
        candidates: The options that an ambiguous abbreviation may mean.
        values: What follows, or what is after ``=``.
        attached: Whether the value is part of the word.
        first: Position of the word.
        last: Position after its last value.
    """

    word: Word
    name: str
    flag: ServeFlag | None
    how: How
    values: tuple[str, ...]
    known: bool
    attached: bool
    first: int
    last: int
    candidates: tuple[str, ...] = ()

    @property
    def negative(self) -> bool:
        """Whether it sets its flag to false."""
        return self.flag is not None and self.name in self.flag.negatives

    @property
    def dotted(self) -> bool:
        """Whether it gives one key of a flag's JSON value."""
        return "." in self.name


@dataclass(frozen=True)
class Parsed:
    """A command line, taken apart.

    Attributes:
        positionals: Positions of the words that belong to no option.
    """

    words: tuple[Word, ...]
    given: tuple[Given, ...]
    positionals: tuple[int, ...]


class Options:
    """The option strings of one release."""

    def __init__(self, flags: Mapping[str, ServeFlag]) -> None:
        self.flags = flags
        self.names: dict[str, ServeFlag] = {}
        for each in flags.values():
            if "." not in each.name:
                names = (each.name, *each.aliases, *each.negatives)
                self.names |= dict.fromkeys(names, each)
        self.dotted = any("." in name for name in flags)

    def prefixed(self, text: str) -> tuple[str, ...]:
        """Return the option strings that argparse takes an abbreviation for."""
        return tuple(name for name in self.names if name.startswith(text))


def parse(words: Sequence[Word], flags: Mapping[str, ServeFlag]) -> Parsed:
    """Take a command line apart as the parser of a release does."""
    options = Options(flags)
    given: list[Given] = []
    positionals: list[int] = []
    at = 0
    while at < len(words):
        if words[at].text == "--" and words[at].literal:
            positionals += range(at + 1, len(words))
            break
        if not _is_option(words[at], options):
            positionals.append(at)
            at += 1
            continue
        taken = _take(words, at, options)
        given.append(taken)
        at = taken.last
    return Parsed(tuple(words), tuple(given), tuple(positionals))


def normal(text: str) -> str:
    """Return an option as the parser compares it: dashes for underscores before the first dot."""
    key, equals, value = text.partition("=")
    if key.startswith("--"):
        head, dot, rest = key.partition(".")
        key = head.replace("_", "-") + dot + rest
    return key + equals + value


def _is_option(word: Word, options: Options) -> bool:
    text = word.text
    if len(text) < 2 or not text.startswith("-"):
        return False
    if normal(text).partition("=")[0] in options.names:
        return True
    if not text.startswith("--") and _NEGATIVE.fullmatch(text):
        return False
    # To argparse a word with a blank in it is a value, unless an option is spelled so.
    key = normal(text).partition("=")[0]
    return " " not in text or (" " not in key and bool(options.prefixed(key))) or "." in key


def _take(words: Sequence[Word], at: int, options: Options) -> Given:
    text = normal(words[at].text)
    name, equals, value = text.partition("=")
    if text.startswith("-O") and text != "-O" and not text.startswith("-O."):
        flag, value = options.names.get("-O"), text[3:] if text[2] == "=" else text[2:]
        return _given(words, at, "-O", flag, (value,), attached=True)
    if "." in name and options.dotted:
        return _dotted(words, at, options)
    if not name.startswith("--") and name not in options.names:
        return _short(words, at, options)
    flag, how, candidates = _resolve(name, options)
    if equals:
        return _given(words, at, name, flag, (value,), True, how, candidates)
    values = _values(words, at + 1, flag, options)
    return _given(words, at, name, flag, values, False, how, candidates)


def _short(words: Sequence[Word], at: int, options: Options) -> Given:
    """Take a word with one dash that is no option as it stands: the rest of it may be the value."""
    text = words[at].text
    name, equals, value = text.partition("=")
    candidates = options.prefixed(text)
    flag = options.names.get(text[:2])
    if flag is not None and not candidates:
        return _given(words, at, text[:2], flag, (text[2:],), True)
    if flag is None and len(candidates) == 1:
        flag = options.names[candidates[0]]
        values = _values(words, at + 1, flag, options)
        return _given(words, at, name, flag, values, False, "abbreviated", candidates)
    how: How = "ambiguous" if candidates else "unknown"
    if equals:
        return _given(words, at, name, None, (value,), True, how, candidates)
    values = _values(words, at + 1, None, options)
    return _given(words, at, name, None, values, False, how, candidates)


def _resolve(name: str, options: Options) -> tuple[ServeFlag | None, How, tuple[str, ...]]:
    if name in options.names:
        return options.names[name], "exact", ()
    candidates = options.prefixed(name) if name != "-" else ()
    if len(candidates) == 1:
        return options.names[candidates[0]], "abbreviated", candidates
    return None, ("ambiguous" if candidates else "unknown"), candidates


def _dotted(words: Sequence[Word], at: int, options: Options) -> Given:
    name, equals, value = normal(words[at].text).partition("=")
    head, dot, rest = name.partition(".")
    owner, how, candidates = _resolve(head, options)
    flag = find(options.flags, f"{owner.name}{dot}{rest}") if owner is not None else None
    if flag is None and how == "exact":
        how = "unknown"
    values = (value,) if equals else tuple(each.text for each in words[at + 1 : at + 2])
    return _given(words, at, name, flag, values, bool(equals), how, candidates)


def _given(  # noqa: PLR0913, PLR0917 - the fields of what it makes
    words: Sequence[Word],
    at: int,
    name: str,
    flag: ServeFlag | None,
    values: tuple[str, ...],
    attached: bool,
    how: How = "exact",
    candidates: tuple[str, ...] = (),
) -> Given:
    last = at + 1 if attached else at + 1 + len(values)
    known = all(word.literal for word in words[at:last])
    return Given(words[at], name, flag, how, values, known, attached, at, last, candidates)


def _values(
    words: Sequence[Word], at: int, flag: ServeFlag | None, options: Options
) -> tuple[str, ...]:
    """The words that an option takes, of those that are there."""
    end = at
    while end < len(words) and words[end].text != "--" and not _is_option(words[end], options):
        end += 1
    there = tuple(word.text for word in words[at:end])
    kind, nargs = (flag.type, flag.nargs) if flag is not None else _elsewhere(words[at - 1].text)
    if kind in _WITHOUT_VALUE:
        return ()
    if nargs in _MANY:
        return there
    return there[:nargs] if isinstance(nargs, int) else there[:1]


def _elsewhere(text: str) -> tuple[str, str | int | None]:
    """What a flag takes that this release does not have, by the newest that has it.

    Of a flag that no release has, one word that follows it counts as its value: it is not a stray
    word on top.
    """
    recorded = load.flags().get(normal(text))
    says = recorded.says(recorded.newest) or {} if recorded is not None else {}
    return says.get("type", ""), says.get("nargs")
