"""What CMake's own commands, and those of vLLM's cmake/utils.cmake, do to variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.knowledge.extract import archs as arch_lists
from dsv4_doctor.knowledge.extract.cmake_state import CUDA_BUILD, Word, is_open, words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsv4_doctor.knowledge.extract.cmake_state import State
    from dsv4_doctor.knowledge.extract.cmake_syntax import Command

_SET_OPTIONS = frozenset({"CACHE", "PARENT_SCOPE"})
_LIST_READERS = frozenset({"JOIN", "LENGTH", "FIND", "GET", "SUBLIST"})
_LIST_CHANGES = frozenset({"APPEND", "PREPEND", "REMOVE_ITEM", "REMOVE_DUPLICATES", "SORT"})
# These give names of variables as values, and change none.
_HARMLESS = frozenset({"message", "install", "set_gencode_flags_for_srcs", "option"})


def apply(state: State, file: str, command: Command, words: tuple[Word, ...]) -> None:
    """Change the variables as a command does.

    A command that is not known makes every variable that it names unknown.
    """
    if command.name == "set" and words:
        _set(state, words)
    elif command.name == "list" and len(words) > 1:
        _list(state, words)
    elif command.name == "file" and len(words) > 2 and words[0].text.startswith("GLOB"):
        state.variables[words[1].text] = words[2:]
    elif command.name == arch_lists.INTERSECTION and command.arguments:
        _intersection(state, file, command)
    elif command.name not in _HARMLESS:
        for argument in command.arguments:
            if argument.text in state.variables and argument.text not in CUDA_BUILD:
                state.variables[argument.text] = None


def _set(state: State, words: tuple[Word, ...]) -> None:
    values = words[1:]
    cut = next((at for at, each in enumerate(values) if each.text in _SET_OPTIONS), len(values))
    # A cache variable keeps the value that it has.
    if cut == len(values) or words[0].text not in state.variables:
        state.variables[words[0].text] = tuple(each for each in values[:cut] if each.text)


def _list(state: State, words: Sequence[Word]) -> None:
    action, name, rest = words[0].text, words[1].text, words[2:]
    old = state.variables.get(name, ())
    if action in _LIST_READERS:
        state.variables[words[-1].text] = None
    elif old is None or action not in _LIST_CHANGES:
        state.variables[name] = None
    elif action == "APPEND":
        state.variables[name] = (*old, *rest)
    elif action == "PREPEND":
        state.variables[name] = (*rest, *old)
    elif action == "REMOVE_ITEM":
        gone = {word.text for word in rest}
        state.variables[name] = tuple(each for each in old if each.text not in gone)
    elif action == "REMOVE_DUPLICATES":
        first: dict[str, Word] = {}
        for each in old:
            first.setdefault(each.text, each)
        state.variables[name] = tuple(first.values())


def _intersection(state: State, file: str, command: Command) -> None:
    target, source = command.arguments[0].text, command.arguments[1:2]
    supported = state.variables.get(arch_lists.SUPPORTED)
    words = [word for each in source for word in words_of(state, file, each)]
    if supported is None or any(is_open(word.text) for word in words):
        state.variables[target] = None
        return
    kept = set(
        arch_lists.intersection([w.text for w in words], [w.text for w in _split(supported)])
    )
    state.variables[target] = tuple(word for word in _split(words) if word.text in kept)


def _split(words: Sequence[Word]) -> list[Word]:
    return [
        Word(part, word.file, word.line) for word in words for part in word.text.split(";") if part
    ]
