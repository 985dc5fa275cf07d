"""Walks CMake files under one version of nvcc, and tells which commands run and when.

A condition that is decided by nvcc's version or by variables set in the tree is decided; the
branches of one that is not (an override, a file on disk, the host compiler) are all walked, and
what happens there carries the condition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.knowledge.extract import archs as arch_lists
from dsv4_doctor.knowledge.extract import cmake_effects as effects
from dsv4_doctor.knowledge.extract.cmake_condition import Token, evaluate
from dsv4_doctor.knowledge.extract.cmake_state import (
    CUDA_BUILD,
    CUDA_COMPILER,
    Condition,
    Event,
    Function,
    State,
    Word,
    expand,
    is_open,
    words_of,
)
from dsv4_doctor.knowledge.extract.cmake_syntax import Argument, CMakeError, Command, parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsv4_doctor.knowledge.extract.tree import SourceTree

_SKIPPED = {"function": "endfunction", "macro": "endmacro"}
# Functions of vLLM's that make a list of architectures, and do nothing else.
_ARCH_FUNCTIONS = "cuda_archs_"
_LOOPS = {"foreach": "endforeach", "while": "endwhile"}


def walk(
    tree: SourceTree, nvcc: str, parsed: dict[str, tuple[Command, ...]]
) -> tuple[tuple[Event, ...], tuple[str, ...]]:
    """Walk the tree's CMakeLists.txt and what it includes.

    Args:
        tree: A vLLM tree.
        nvcc: Full version of the compiler, such as ``12.9.50``.
        parsed: Files that were parsed before; this walk adds its own.

    Returns:
        What runs in a CUDA build, and what could not be read.
    """
    state = State(tree, parsed)
    preset = CUDA_BUILD | {CUDA_COMPILER: nvcc, "CUDA_VERSION": nvcc}
    state.variables = {name: (Word(value, "", 0),) for name, value in preset.items()}
    _file(state, "CMakeLists.txt")
    return tuple(state.events), tuple(state.problems)


def commands(
    tree: SourceTree, parsed: dict[str, tuple[Command, ...]], name: str
) -> tuple[Command, ...] | None:
    """Return a file's commands, parsed once; ``None`` when it is not there.

    Raises:
        CMakeError: It breaks CMake's grammar.
    """
    if name not in parsed:
        text = tree.text(name)
        if text is None:
            return None
        parsed[name] = parse(text)
    return parsed[name]


def _file(state: State, name: str) -> None:
    if state.depth > 20:
        state.problems.append(f"{name}: includes itself")
        return
    try:
        found = commands(state.tree, state.parsed, name)
        if found is None:
            return
        state.depth += 1
        _block(state, name, found)
        state.depth -= 1
    except CMakeError as error:
        state.problems.append(f"{name}: {error}")


def _block(state: State, file: str, block: Sequence[Command]) -> bool:
    """Walk some commands; whether a ``return()`` ended the file."""
    at = 0
    while at < len(block):
        command = block[at]
        if command.name == "if":
            end = _end(block, at, "if", "endif")
            if _if(state, file, block[at:end]):
                return True
            at = end
        elif command.name in _SKIPPED:
            end = _end(block, at, command.name, _SKIPPED[command.name])
            if command.arguments:
                name = command.arguments[0].text.lower()
                state.functions[name] = Function(file, command.arguments[1:], block[at + 1 : end])
            at = end
        elif command.name in _LOOPS:
            end = _end(block, at, command.name, _LOOPS[command.name])
            _loop(state, file, command, block[at + 1 : end])
            at = end
        elif command.name == "return":
            return True
        else:
            _command(state, file, command)
        at += 1
    return False


def _loop(state: State, file: str, command: Command, body: Sequence[Command]) -> None:
    items = _items(state, file, command)
    if items is not None:
        for item in items:
            state.variables[command.arguments[0].text] = (item,)
            _block(state, file, body)
        return
    for argument in command.arguments[:1]:
        state.variables[argument.text] = None
    _branch(state, file, body, Condition(file, command.arguments, negated=False, decided=False))


def _items(state: State, file: str, command: Command) -> list[Word] | None:
    """What a ``foreach`` goes through, ``None`` when that is not known or is a range."""
    rest = command.arguments[1:]
    if command.name != "foreach" or not rest or rest[0].text == "RANGE":
        return None
    if [each.text for each in rest[:2]] == ["IN", "LISTS"]:
        lists = [state.variables.get(each.text) for each in rest[2:]]
        if None in lists:
            return None
        return [word for each in lists for word in each or ()]
    if [each.text for each in rest[:2]] == ["IN", "ITEMS"]:
        rest = rest[2:]
    items = [word for each in rest for word in words_of(state, file, each)]
    return None if any(is_open(word.text) for word in items) else items


def _end(block: Sequence[Command], start: int, opening: str, closing: str) -> int:
    depth = 0
    for at in range(start, len(block)):
        depth += (block[at].name == opening) - (block[at].name == closing)
        if depth == 0:
            return at
    msg = f"line {block[start].line}: {opening} has no {closing}"
    raise CMakeError(msg)


def _branches(block: Sequence[Command]) -> list[tuple[Command, Sequence[Command]]]:
    starts, depth = [], 0
    for at, command in enumerate(block):
        depth += (command.name == "if") - (command.name == "endif")
        if depth == 1 and (at == 0 or command.name in {"elseif", "else"}):
            starts.append(at)
    ends = [*starts[1:], len(block)]
    return [(block[at], block[at + 1 : end]) for at, end in zip(starts, ends, strict=True)]


def _if(state: State, file: str, block: Sequence[Command]) -> bool:
    before: list[Condition] = []
    earlier_unknown = False
    for command, body in _branches(block):
        value = True if command.name == "else" else _decide(state, file, command.arguments)
        decided = value is not None and not earlier_unknown
        outer = len(state.stack)
        state.stack += before
        if value is not False:
            ended = _branch(
                state,
                file,
                body,
                Condition(file, command.arguments, negated=False, decided=decided),
            )
        del state.stack[outer:]
        if value is True:
            return ended and decided
        earlier_unknown |= value is None
        before.append(Condition(file, command.arguments, negated=True, decided=value is not None))
    return False


def _branch(state: State, file: str, body: Sequence[Command], condition: Condition) -> bool:
    saved = dict(state.variables)
    state.stack.append(condition)
    ended = _block(state, file, body)
    state.stack.pop()
    if not condition.decided:
        _doubt(state, saved)
    return ended


def _doubt(state: State, saved: dict[str, tuple[Word, ...] | None]) -> None:
    """What a branch that may not run has changed is not known after it, except longer lists."""
    for name, value in state.variables.items():
        old = saved.get(name)
        if value != old and not _grown(old, value):
            state.variables[name] = None


def _grown(old: tuple[Word, ...] | None, new: tuple[Word, ...] | None) -> bool:
    return old is not None and new is not None and len(old) > 0 and new[: len(old)] == old


def _decide(state: State, file: str, arguments: Sequence[Argument]) -> bool | None:
    def lookup(name: str) -> tuple[bool, str | None]:
        value = state.variables.get(name)
        text = None if value is None else ";".join(word.text for word in value)
        return name in state.variables, None if text is not None and is_open(text) else text

    tokens = []
    for argument in arguments:
        text = expand(state, argument)
        referenced = text != argument.text
        value = None if is_open(text) else text
        tokens.append(Token(value, argument.line, argument.quoted or referenced))
    try:
        return evaluate(tokens, lookup)
    except CMakeError as error:
        state.problems.append(f"{file}: {error}")
        return None


def _command(state: State, file: str, command: Command) -> None:
    # What a family's list is narrowed to is the same everywhere: the build's architectures.
    narrowing = command.name == arch_lists.INTERSECTION
    given = command.arguments[:2] if narrowing else command.arguments
    words = tuple(word for each in given for word in words_of(state, file, each))
    state.events.append(
        Event(command.name, words, command.arguments, file, command.line, tuple(state.stack))
    )
    if command.name == "include" and words:
        _file(state, words[0].text.removeprefix("./"))
    elif command.name in state.functions and _makes_archs(command.name) and state.depth < 20:
        _arch_function(state, file, command)
    else:
        effects.apply(state, file, command, words)


def _makes_archs(name: str) -> bool:
    return name.startswith(_ARCH_FUNCTIONS) and name != arch_lists.INTERSECTION


def _arch_function(state: State, file: str, command: Command) -> None:
    """Go through a function, which has variables of its own, and take the list that it returns."""
    function = state.functions[command.name]
    outer, events = state.variables, len(state.events)
    state.variables = dict(outer)
    for parameter, argument in zip(function.parameters, command.arguments, strict=False):
        state.variables[parameter.text] = tuple(words_of(state, file, argument))
    target = command.arguments[0].text if command.arguments else ""
    state.variables.pop(target, None)
    state.depth += 1
    _block(state, function.file, function.body)
    state.depth -= 1
    outer[target] = state.variables.get(target)
    state.variables = outer
    # What it does inside is not what the file that calls it does.
    del state.events[events:]
