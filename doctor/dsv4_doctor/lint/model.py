"""What a file says of a server: its command, its environment, and where each word stands."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

Kind = Literal["serve", "module", "image"]


@dataclass(frozen=True)
class Word:
    """One word of a command line.

    Attributes:
        text: After quotes were taken off; with ``$NAME`` in it where that could not be told.
        line: Line of the file, counted from 1; 0 for a command line.
        literal: Whether the text is what the program gets; not so with a variable in it.
        raw: The source text of a word that is not literal.
    """

    text: str
    line: int = 0
    literal: bool = True
    raw: str = ""

    def shell(self) -> str:
        """Return it as a word for a POSIX shell."""
        return shlex.quote(self.text) if self.literal else self.raw or self.text


@dataclass(frozen=True)
class Setting:
    """One environment variable that is set for the server.

    Attributes:
        value: ``None`` when only running it would tell.
        where: What sets it, such as ``ENV`` or ``services.vllm.environment``.
    """

    name: str
    value: str | None
    line: int = 0
    where: str = ""


Moving = TypeVar("Moving", Word, Setting)


@dataclass(frozen=True)
class Invocation:
    """One start of a server.

    Attributes:
        arguments: The words after ``vllm serve``.
        environment: Variables that are set for it, in the order in which they are set.
        program: The words before, as they would be written into a shell.
        kind: ``serve`` for ``vllm serve``, ``module`` for the older entry point, ``image`` for the
            arguments of a container whose image brings the program.
        where: Which one of the file, such as ``Deployment/vllm container server``.
        image: Image of its container, empty for none.
        packages: Release of vLLM that the file installs, empty when it does not say.
        notes: What was not looked at, and why.
    """

    arguments: tuple[Word, ...]
    environment: tuple[Setting, ...] = ()
    program: tuple[str, ...] = ("vllm", "serve")
    kind: Kind = "serve"
    where: str = ""
    line: int = 0
    image: str = ""
    packages: str = ""
    notes: tuple[str, ...] = field(default=())

    def moved(self, lines: int) -> Invocation:
        """Return the same as it stands in a text that begins so many lines further down."""
        return replace(
            self,
            arguments=tuple(_moved(each, lines) for each in self.arguments),
            environment=tuple(_moved(each, lines) for each in self.environment),
            line=max(self.line, 1) + lines,
        )


def _moved(each: Moving, lines: int) -> Moving:
    return replace(each, line=each.line + lines if each.line else 0)
