"""The options that several commands share, so that they read the same everywhere."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from dsv4_doctor.checks.choice import Choice


class Format(str, Enum):
    """Output formats: for a person, and for a program."""

    TEXT = "text"
    JSON = "json"


def choose(
    select: list[str] | None, ignore: list[str] | None
) -> tuple[Choice | None, tuple[str, ...]]:
    """Return which checks are asked for, ``None`` for all, and lines on what is left out.

    Raises:
        UsageError: A pattern matches no check.
    """
    if not select and not ignore:
        return None, ()
    from dsv4_doctor.checks.choice import left_out, parse  # noqa: PLC0415 - rarely asked for
    from dsv4_doctor.checks.registry import all_checks  # noqa: PLC0415

    choice = parse(select or (), ignore or (), all_checks())
    return choice, left_out(choice, all_checks())


class Purpose(str, Enum):
    """What the machine is for."""

    BUILD = "build"
    SERVE = "serve"
    ALL = "all"


Output = Annotated[Format, typer.Option("--format", help="Output format.")]
PurposeOption = Annotated[Purpose, typer.Option("--for", help="What the machine is for.")]
Source = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="FILE",
        help="A stored snapshot, or a pasted collect_env or nvidia-smi text; - for stdin.",
    ),
]
Select = Annotated[
    list[str] | None,
    typer.Option("--select", metavar="ID", help="Only this check, or a glob; commas, or repeated."),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option("--ignore", metavar="ID", help="Not this check, or a glob; commas, or repeated."),
]
Vllm = Annotated[
    str | None,
    typer.Option(
        "--vllm",
        metavar="RELEASE|PATH",
        help="vLLM release, sdist or checkout; default: the newest release with all features.",
    ),
]
Archs = Annotated[
    list[str] | None,
    typer.Option("--arch", metavar="ARCH", help="Architecture, such as sm_90; repeatable."),
]
Features = Annotated[
    list[str] | None,
    typer.Option("--feature", metavar="NAME", help="Feature that must be there; repeatable."),
]
Python = Annotated[
    str | None,
    typer.Option(
        "--python",
        metavar="PATH",
        help="Interpreter of the environment to look at; default: the active one.",
    ),
]
Block = Annotated[
    int | None,
    typer.Option(
        "--block",
        metavar="N",
        help="With --from: which machine of a text that holds several; default: the first.",
    ),
]
Redact = Annotated[
    bool,
    typer.Option(
        "--redact",
        help="Replace names of hosts and users, addresses, UUIDs, serial numbers and secrets.",
    ),
]
Deep = Annotated[
    bool,
    typer.Option(
        "--deep",
        help="Look at what takes seconds, too: the symbols of the installed extension modules.",
    ),
]
LeaveOut = Annotated[
    list[str] | None,
    typer.Option(
        "--leave-out",
        metavar="OWNER/NAME",
        help="Take no submodule from this repository; repeatable.",
    ),
]
