"""What a walk through CMake knows at one moment, and how references are expanded with it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsv4_doctor.knowledge.extract.cmake_syntax import Argument, Command
    from dsv4_doctor.knowledge.extract.tree import SourceTree

_REFERENCE = re.compile(r"\$(ENV|CACHE)?\{([^${}]*)\}")

CUDA_COMPILER = "CMAKE_CUDA_COMPILER_VERSION"

# How a CUDA build of vLLM runs its CMake.
CUDA_BUILD = {
    "CUDA_FOUND": "TRUE",
    "HIP_FOUND": "FALSE",
    "PYTORCH_FOUND_HIP": "FALSE",
    "VLLM_TARGET_DEVICE": "cuda",
    "VLLM_PYTHON_EXECUTABLE": "python",
    "CMAKE_CURRENT_LIST_DIR": ".",
    "CMAKE_CURRENT_SOURCE_DIR": ".",
    "CMAKE_SOURCE_DIR": ".",
}


@dataclass(frozen=True)
class Word:
    """A value and where it was written, which may be another place than where it is used."""

    text: str
    file: str
    line: int


@dataclass(frozen=True)
class Condition:
    """One ``if`` around a command.

    Attributes:
        tokens: As written, with their lines.
        negated: The command stands in a later branch.
        decided: Whether the walk could decide it.
    """

    file: str
    tokens: tuple[Argument, ...]
    negated: bool
    decided: bool

    @property
    def text(self) -> str:
        """The condition as one line."""
        body = " ".join(f'"{each.text}"' if each.quoted else each.text for each in self.tokens)
        return f"NOT ({body})" if self.negated else body


@dataclass(frozen=True)
class Event:
    """A command that runs, or may run.

    Attributes:
        words: Its arguments after expansion.
        raw: Its arguments as written.
        conditions: The ``if`` commands around it, outermost first.
    """

    name: str
    words: tuple[Word, ...]
    raw: tuple[Argument, ...]
    file: str
    line: int
    conditions: tuple[Condition, ...]

    @property
    def certain(self) -> bool:
        """Whether every condition around it was decided."""
        return all(each.decided for each in self.conditions)


@dataclass(frozen=True)
class Function:
    """A function of the tree.

    Attributes:
        file: That defines it.
        parameters: Their names.
    """

    file: str
    parameters: tuple[Argument, ...]
    body: Sequence[Command]


@dataclass
class State:
    """A walk: what is set, what has run, and the conditions around the place where it is.

    Attributes:
        parsed: Commands of the files that were parsed, by path.
        variables: Their values; ``None`` for one that is set to something that is not known.
        problems: What could not be read.
        depth: How many files include each other.
        functions: Those that were defined so far, by name in small letters.
    """

    tree: SourceTree
    parsed: dict[str, tuple[Command, ...]]
    variables: dict[str, tuple[Word, ...] | None] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    stack: list[Condition] = field(default_factory=list)
    depth: int = 0
    functions: dict[str, Function] = field(default_factory=dict)


def is_open(text: str) -> bool:
    """Whether a reference in the text is not resolved."""
    return "${" in text or "$ENV{" in text or "$CACHE{" in text


def expand(state: State, argument: Argument) -> str:
    """Expand the references in an argument; those that are not known stay as written."""
    text = argument.text
    if argument.literal:
        return text
    for _ in range(8):
        changed = _REFERENCE.sub(lambda match: _reference(state, match), text)
        if changed == text:
            break
        text = changed
    return text


def _reference(state: State, match: re.Match[str]) -> str:
    value = state.variables.get(match[2]) if match[1] is None else None
    return match[0] if value is None else ";".join(word.text for word in value)


def words_of(state: State, file: str, argument: Argument) -> list[Word]:
    """Return the values of one argument, each with the place where it was written."""
    whole = _REFERENCE.fullmatch(argument.text)
    if whole is not None and whole[1] is None and not argument.literal:
        value = state.variables.get(whole[2])
        if value is not None:
            return list(value)
    text = expand(state, argument)
    parts = [text] if argument.quoted and ";" not in text else text.split(";")
    return [Word(part, file, argument.line) for part in parts if part or argument.quoted]
