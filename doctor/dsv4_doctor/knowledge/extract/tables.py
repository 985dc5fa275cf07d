"""The tables over all releases: flags of ``vllm serve``, and environment variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.errors import InputError
from dsv4_doctor.knowledge.extract import histories
from dsv4_doctor.knowledge.extract.cmake_syntax import CMakeError
from dsv4_doctor.knowledge.extract.cmake_syntax import parse as parse_cmake
from dsv4_doctor.knowledge.extract.environment import variables
from dsv4_doctor.knowledge.extract.flag_run import Runner
from dsv4_doctor.knowledge.extract.flags import flags
from dsv4_doctor.knowledge.extract.python_modules import Modules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dsv4_doctor.knowledge.extract.cmake_syntax import Command
    from dsv4_doctor.knowledge.extract.facts import Json
    from dsv4_doctor.knowledge.extract.histories import Said
    from dsv4_doctor.knowledge.extract.tree import SourceTree


def read_flags(tree: SourceTree) -> dict[str, Said]:
    """Return what a tree says of each flag, with file and line.

    Raises:
        InputError: A file is no Python, or the tree declares no flags in a way that is known.
    """
    try:
        found = {name: (each.says, each.file, each.line) for name, each in flags(tree).items()}
    except (SyntaxError, RecursionError) as error:
        msg = f"{tree.path}: its flags cannot be read: {error}"
        raise InputError(msg) from error
    if not found:
        msg = f"{tree.path}: no flags of vllm serve: its parser is made in a way that is not known"
        raise InputError(msg)
    return found


def read_variables(tree: SourceTree) -> dict[str, Said]:
    """Return what a tree says of each variable, with file and line.

    Raises:
        InputError: A file is no Python.
    """
    try:
        found = variables(tree, Runner(Modules(tree)), _cmake(tree))
    except (SyntaxError, RecursionError) as error:
        msg = f"{tree.path}: its environment variables cannot be read: {error}"
        raise InputError(msg) from error
    return {name: each.said() for name, each in found.items()}


def _cmake(tree: SourceTree) -> Iterator[tuple[str, tuple[Command, ...]]]:
    for file in sorted(tree.content):
        if file == "CMakeLists.txt" or file.endswith(".cmake"):
            try:
                yield file, parse_cmake(tree.text(file) or "")
            except CMakeError:  # The walk through CMake says so.
                continue


TABLES: dict[str, Callable[[SourceTree], dict[str, Said]]] = {
    "flags": read_flags,
    "variables": read_variables,
}


def updated(table: Json | None, name: str, tree: SourceTree) -> Json:
    """Return a table with one more release, or with one read again.

    Args:
        table: Its content so far, ``None`` for none.
        name: ``flags`` or ``variables``.
        tree: The release's tree.

    Raises:
        InputError: The tree cannot be read.
    """
    schema = f"dsv4-doctor/{name}/2" if name == "flags" else f"dsv4-doctor/{name}/1"
    return histories.add(
        table or histories.empty(schema, name), name, tree.version, TABLES[name](tree)
    )
