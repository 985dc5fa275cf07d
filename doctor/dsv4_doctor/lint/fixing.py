"""The corrected command: only what keeps the meaning of a command, or what it plainly meant."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsv4_doctor.lint.model import Invocation, Setting, Word
    from dsv4_doctor.lint.problem import Problem


def chosen(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """Return the problems whose fixes are taken: of two that touch the same words, the first."""
    taken: list[Problem] = []
    words: set[int] = set()
    for problem in problems:
        fix = problem.fix
        if fix is None:
            continue
        own = set(range(fix.first, fix.last))
        if own.isdisjoint(words):
            taken.append(problem)
            words |= own
    return tuple(taken)


def arguments(words: Sequence[Word], problems: Sequence[Problem]) -> tuple[str, ...]:
    """Return the words of a command with the fixes put in, each as a shell has it."""
    starts = {p.fix.first: p.fix for p in problems if p.fix is not None and not p.fix.unset}
    found: list[str] = []
    at = 0
    while at < len(words):
        fix = starts.get(at)
        if fix is None:
            found.append(words[at].shell())
            at += 1
        else:
            found += map(shlex.quote, fix.words)
            at = fix.last
    return tuple(found)


def environment(settings: Sequence[Setting], problems: Sequence[Problem]) -> tuple[str, ...]:
    """Return what is set for the command, without what the fixes take out."""
    out = {p.fix.unset for p in problems if p.fix is not None and p.fix.unset}
    last = {each.name: each for each in settings}
    return tuple(
        f"{each.name}={shlex.quote(each.value)}"
        if each.value is not None
        else f'{each.name}="${each.name}"'
        for each in last.values()
        if each.name not in out
    )


def command(invocation: Invocation, problems: Sequence[Problem]) -> str:
    """Return the whole command as lines for a shell, a flag a line."""
    words = arguments(invocation.arguments, problems)
    program = invocation.program or ("vllm", "serve")
    head = " ".join((*environment(invocation.environment, problems), *program))
    lines = [head]
    for word in words:
        if word.startswith("-") and not _number(word):
            lines.append(word)
        else:
            lines[-1] += f" {word}"
    return " \\\n  ".join(lines)


def _number(word: str) -> bool:
    return word[1:].replace(".", "", 1).isdecimal()
