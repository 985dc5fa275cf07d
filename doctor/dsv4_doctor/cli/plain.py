"""A check whose answer is JSON, asked for in plain words, runs without Typer.

Programs ask so, and often; importing Typer takes a tenth of a check's processor time. A command
line that is not as plain as what is read here is Typer's, with every error in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dsv4_doctor.cli import ending
from dsv4_doctor.cli.judging import Asked, prepare
from dsv4_doctor.files import STDOUT, deliver
from dsv4_doctor.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

# Options of `check` and the attributes of what is asked for: with a value, repeatable, without.
_ONE = {"--vllm": "vllm", "--python": "python", "--model": "model"}
_MANY = {"--arch": "archs", "--feature": "features"}
_YES = {"--deep": "deep", "--redact": "redact"}


@dataclass(frozen=True)
class Plain:
    """A plain command line.

    Attributes:
        asked: What is to be judged.
        strict: Whether a warning is an exit status, too.
        facts: Whether the snapshot goes into the answer.
    """

    asked: Asked
    strict: bool = False
    facts: bool = False


def run(arguments: Sequence[str]) -> None:
    """Run a plain command line and exit; return from one that Typer has to read."""
    plain = read(arguments)
    if plain is not None:
        ending.open_streams()
        ending.leave(ending.guarded(lambda: answer(plain), ending.broke))


def read(arguments: Sequence[str]) -> Plain | None:
    """Return what a plain command line asks for, ``None`` for one that Typer has to read.

    Args:
        arguments: Of the command line, the command's name first.
    """
    command, *words = arguments
    values: dict[str, Any] = {name: [] for name in _MANY.values()}
    form, said = "", set()
    while words:
        option, equals, value = words.pop(0).partition("=")
        if option in {"--strict", "--facts", *_YES} and not equals:
            said.add(option)
            continue
        if not equals:
            value = words.pop(0) if words else ""
        if not value or value.startswith("-"):
            return None
        if option == "--format":
            form = value
        elif option in _ONE:
            values[_ONE[option]] = value
        elif option in _MANY:
            values[_MANY[option]].append(value)
        else:
            return None
    if (command, form) != ("check", "json"):
        return None
    values.update({name: tuple(values[name]) for name in _MANY.values()})
    values.update({name: option in said for option, name in _YES.items()})
    return Plain(Asked(**values), "--strict" in said, "--facts" in said)


def answer(plain: Plain) -> int:
    """Write the report and return the exit status."""
    judge = prepare(plain.asked)
    # Imported while the probes run.
    from dsv4_doctor.formats import json  # noqa: PLC0415

    report, snapshot = judge(())
    deliver(json.render(report, snapshot if plain.facts else None), STDOUT)
    return report.exit_code(strict=plain.strict)
