"""Units of systemd: ExecStart with Environment. An EnvironmentFile is named and not read.

The syntax is that of systemd.syntax(7), systemd.service(5) and systemd.exec(5).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from dsv4_doctor.lint.invocations import in_words
from dsv4_doctor.lint.model import Invocation, Setting, Word

if TYPE_CHECKING:
    from collections.abc import Iterator

_PREFIXES = "@-:+!|"
_WORD = re.compile(r"""(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\\.|[^\s"'\\])+""", re.DOTALL)
_PIECE = re.compile(r""""((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|\\(.)|([^"'\\]+)""", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*)|\$\$")
_SPECIFIER = re.compile(r"%[^%\s]")


def invocations(text: str) -> tuple[Invocation, ...]:
    """Return the servers that ExecStart starts.

    Raises:
        ShellError: A ``sh -c`` in it cannot be read.
    """
    environment: dict[str, Setting] = {}
    starts: list[tuple[str, int]] = []
    notes: list[str] = []
    for key, value, line in _assignments(text):
        if key == "Environment":
            if not value.strip():
                environment.clear()
            for word in _words(value, line):
                name, _, rest = word.text.partition("=")
                known = None if _SPECIFIER.search(rest) else rest.replace("%%", "%")
                environment[name] = Setting(name, known, line, "Environment")
        elif key == "EnvironmentFile" and value.strip():
            notes.append(f"{value.strip().lstrip('-')}: variables of this file were not read")
        elif key == "ExecStart":
            starts = [*starts, (value, line)] if value.strip() else []
    settings = tuple(environment.values())
    return tuple(
        replace(
            found,
            environment=(*settings, *found.environment),
            where="ExecStart",
            notes=tuple(notes),
            line=found.line or line,
        )
        for value, line in starts
        for found in in_words(tuple(_expanded(value, line, environment)))
    )


def _assignments(text: str) -> Iterator[tuple[str, str, int]]:
    """Give the assignments of the section ``[Service]``, continuations joined."""
    section, at, lines = "", 0, text.splitlines()
    while at < len(lines):
        start, line = at + 1, lines[at]
        at += 1
        if line.lstrip().startswith(("#", ";")):
            continue
        while line.endswith("\\") and at < len(lines):
            comment = lines[at].lstrip().startswith(("#", ";"))
            line = f"{line[:-1]} \n" + ("\\" if comment else lines[at])
            at += 1
        if line.strip().startswith("["):
            section = line.strip()
        elif section == "[Service]" and "=" in line:
            key, _, value = line.removesuffix("\\").partition("=")
            yield key.strip(), value.strip(), start


def _words(value: str, line: int) -> Iterator[Word]:
    for match in _WORD.finditer(value):
        at = line + value.count("\n", 0, match.start())
        text = "".join(
            _ESCAPE.sub(r"\1", a or b) + c + d for a, b, c, d in _PIECE.findall(match[0])
        )
        yield Word(text, at, raw=match[0])


def _expanded(value: str, line: int, environment: dict[str, Setting]) -> Iterator[Word]:
    """The words of a command: ``${NAME}`` is put in, ``$NAME`` alone becomes several words."""
    for number, word in enumerate(_words(value, line)):
        text = word.text.lstrip(_PREFIXES) if number == 0 else word.text
        alone = re.fullmatch(r"\$([A-Za-z_]\w*)", text)
        if alone is not None:
            setting = environment.get(alone[1])
            if setting is not None and setting.value is not None:
                yield from (Word(each, word.line) for each in setting.value.split())
                continue
        replaced, known = _put(text, environment)
        known = known and not _SPECIFIER.search(replaced)
        yield Word(replaced.replace("%%", "%"), word.line, known, word.raw)


def _put(text: str, environment: dict[str, Setting]) -> tuple[str, bool]:
    known = True

    def value(match: re.Match[str]) -> str:
        nonlocal known
        if match[0] == "$$":
            return "$"
        setting = environment.get(match[1] or match[2])
        found = None if setting is None else setting.value
        known = known and found is not None
        return match[0] if found is None else found

    return _VARIABLE.sub(value, text), known
