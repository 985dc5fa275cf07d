"""The options that several commands share, so that they read the same everywhere."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer


class Format(str, Enum):
    """Output formats: for a person, and for a program."""

    TEXT = "text"
    JSON = "json"


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
