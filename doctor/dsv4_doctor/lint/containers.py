"""What a container runs: its command and its arguments together, as its image would have them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dsv4_doctor.lint.invocations import brings_server, in_text, in_words
from dsv4_doctor.lint.model import Invocation, Setting, Word
from dsv4_doctor.lint.shell import ShellError
from dsv4_doctor.lint.yaml_text import line_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_KUBERNETES = re.compile(r"\$\(([A-Za-z_][-A-Za-z0-9_.]*)\)")


def words_of(value: Any, values: Mapping[str, str | None] | None = None) -> tuple[Word, ...]:
    """Return a list of a YAML file as words.

    Args:
        value: The list; anything else is no words.
        values: Variables that ``$(NAME)`` stands for, ``None`` where it stands for itself.
    """
    if not isinstance(value, list):
        return ()
    return tuple(_word(each, values) for each in value if isinstance(each, str))


def _word(text: str, values: Mapping[str, str | None] | None) -> Word:
    line = line_of(text)
    if values is None:
        return Word(str(text), line)
    known = True

    def put(match: re.Match[str]) -> str:
        nonlocal known
        value = values.get(match[1])
        known = known and value is not None
        return match[0] if value is None else value

    replaced = _KUBERNETES.sub(put, text)
    return Word(replaced, line, known, str(text))


def started(  # noqa: PLR0913 - what a container is made of
    entry: Sequence[Word],
    rest: Sequence[Word],
    environment: Sequence[Setting],
    *,
    image: str,
    where: str,
    line: int = 0,
) -> tuple[Invocation, ...]:
    """Return the servers that a container starts.

    Args:
        entry: Its entry point; empty where the image's own stands.
        rest: The arguments.
        environment: Variables that are set for it.
        image: Its image.
        where: Which container it is.
        line: Where it stands.
    """
    whole = (*entry, *rest)
    try:
        found = in_words(whole)
    except ShellError as error:
        return (Invocation((), where=where, line=line, image=image, notes=(str(error),)),)
    if not found and not entry and brings_server(image):
        found = (Invocation(tuple(rest), program=(), kind="image"),)
    return tuple(
        replace(
            each,
            environment=(*environment, *each.environment),
            image=image,
            where=where,
            line=each.line or line,
        )
        for each in found
    )


def shell_words(text: str, line: int) -> tuple[Word, ...]:
    """Return a text of a Compose file that is split as a shell does, without being run by one."""
    from dsv4_doctor.lint.shell_commands import commands  # noqa: PLC0415 - one form of two

    found = commands(text)
    return tuple(replace(word, line=line) for each in found for word in each.words)


def of_shell(
    text: str, environment: Sequence[Setting], *, where: str, line: int
) -> tuple[Invocation, ...]:
    """Return the servers that a shell text starts, with the environment that stands around it."""
    known = {each.name: each.value for each in environment if each.value is not None}
    return tuple(
        replace(
            each.moved(max(line - 1, 0)),
            environment=(*environment, *each.moved(max(line - 1, 0)).environment),
            where=where,
        )
        for each in in_text(text, known)
    )
