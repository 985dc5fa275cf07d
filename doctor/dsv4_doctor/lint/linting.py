"""A file or a command line to what is wrong with the servers that it starts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.errors import InputError
from dsv4_doctor.lint import config_file, fit, fixing, flags, rules, variables, whole
from dsv4_doctor.lint.arguments import parse
from dsv4_doctor.lint.problem import Problem
from dsv4_doctor.lint.state import state
from dsv4_doctor.lint.subject import Against, model_named

if TYPE_CHECKING:
    from dsv4_doctor.lint.arguments import Parsed
    from dsv4_doctor.lint.model import Invocation, Word

_ORDER = {"fail": 0, "warn": 1, "unknown": 2}


@dataclass(frozen=True)
class Server:
    """What is said of one start of a server.

    Attributes:
        where: Which one of the file.
        line: Where it stands, 0 for a command line.
        release: That it was held against.
        model: As the command names it, empty where it does not.
        flags: How many options it has.
        variables: How many variables are set for it.
        problems: What is wrong, the worst first.
        command: As it would be written into a shell after the fixes.
        fixed: Ids of the problems that are mended in it, in the order of ``problems``.
        notes: What was not looked at, and why.
    """

    where: str
    line: int
    release: str
    model: str
    flags: int
    variables: int
    problems: tuple[Problem, ...]
    command: str
    fixed: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def wrong(self) -> bool:
        """Whether something fails or is worth a change."""
        return any(each.status != "unknown" for each in self.problems)


def judge(invocation: Invocation, against: Against, root: Path | None = None) -> Server:
    """Say what is wrong with one start of a server.

    Args:
        invocation: The start.
        against: What it is held against.
        root: Directory that a relative ``--config`` is in; ``None`` reads none.
    """
    parsed = parse(invocation.arguments, against.flags)
    beside, notes = _configured(invocation, against, root)
    environment = {each.name: each for each in invocation.environment}
    word = whole.model_of(parsed, invocation.kind)
    name = against.model or (word.text if word is not None and word.literal else "")
    model = model_named(name) if name else None
    values = {**(state(beside) if beside else {}), **state(parsed)}
    problems = [
        *(problem for given in parsed.given for problem in flags.of(given, against)),
        *whole.unnamed(parsed, invocation.kind, against, beside),
        *whole.stray(parsed, invocation.kind),
        *whole.repeated(parsed),
        *_beside(beside, against),
        *rules.of(values, environment, model, against),
        *fit.of(values, model, against),
        *variables.of(environment, against),
        *_untold(parsed),
    ]
    ordered = tuple(sorted(problems, key=lambda each: _ORDER[each.status]))
    taken = fixing.chosen(ordered)
    return Server(
        where=invocation.where,
        line=invocation.line,
        release=against.release,
        model=name,
        flags=len(parsed.given) + (len(beside.given) if beside else 0),
        variables=len(environment),
        problems=ordered,
        command=fixing.command(invocation, taken),
        fixed=tuple(each.id for each in taken),
        notes=(*invocation.notes, *notes),
    )


def _configured(
    invocation: Invocation, against: Against, root: Path | None
) -> tuple[Parsed | None, tuple[str, ...]]:
    """The options of the file of ``--config``, and why they were not read."""
    word = config_file.named(invocation.arguments)
    if word is None:
        return None, ()
    if root is None:
        return None, (f"--config {word.text}: not read, it is not a file beside this one",)
    path = Path(word.text) if Path(word.text).is_absolute() else root / word.text
    try:
        words = config_file.words_of(path, against.flags)
    except OSError as error:
        return None, (f"--config {word.text}: not read: {error.strerror or error}",)
    except InputError as error:
        return None, (f"--config: {error}",)
    return parse(words, against.flags), ()


def _beside(beside: Parsed | None, against: Against) -> list[Problem]:
    """What is wrong in a configuration; it is left to a person, whose file it is."""
    if beside is None:
        return []
    found = [problem for given in beside.given for problem in flags.of(given, against)]
    return [replace(each, title=f"in --config: {each.title}", fix=None, line=0) for each in found]


def _untold(parsed: Parsed) -> list[Problem]:
    """The words that only running the text would tell."""
    words: list[Word] = [
        *(word for each in parsed.given for word in parsed.words[each.first : each.last]),
        *(parsed.words[at] for at in parsed.positionals),
    ]
    return [
        Problem(
            "lint.word.unknown",
            "unknown",
            word.text,
            f"what {word.text} stands for is not in the text",
            found=word.raw or word.text,
            do="set it in the text, or lint the command as it is run",
            line=word.line,
        )
        for word in words
        if not word.literal
    ]
