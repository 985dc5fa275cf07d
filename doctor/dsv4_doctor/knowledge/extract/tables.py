"""The tables over all releases: flags, environment variables, and kernels that are compiled."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dsv4_doctor.errors import InputError
from dsv4_doctor.knowledge.extract import histories
from dsv4_doctor.knowledge.extract.cmake_syntax import CMakeError
from dsv4_doctor.knowledge.extract.cmake_syntax import parse as parse_cmake
from dsv4_doctor.knowledge.extract.deepseek import support
from dsv4_doctor.knowledge.extract.dockerfile import arguments
from dsv4_doctor.knowledge.extract.environment import variables
from dsv4_doctor.knowledge.extract.flag_run import Runner
from dsv4_doctor.knowledge.extract.flags import flags
from dsv4_doctor.knowledge.extract.kernel_groups import groups
from dsv4_doctor.knowledge.extract.nvcc import walk_all
from dsv4_doctor.knowledge.extract.python_modules import Modules
from dsv4_doctor.knowledge.extract.requirements import every
from dsv4_doctor.resources import files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

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


def read_compiled(tree: SourceTree) -> dict[str, Said]:
    """Return what a tree compiles, by group, with file and line."""
    text = (files("dsv4_doctor.knowledge") / "kernel_families.json").read_text(encoding="utf-8")
    return groups(walk_all(tree), json.loads(text)["families"])


def read_deepseek(tree: SourceTree) -> dict[str, Said]:
    """Return what a tree has for DeepSeek-V4, with file and line.

    Raises:
        InputError: A file is no Python.
    """
    try:
        return support(Runner(Modules(tree)))
    except (SyntaxError, RecursionError) as error:
        msg = f"{tree.path}: what it has for DeepSeek-V4 cannot be read: {error}"
        raise InputError(msg) from error


TABLES: dict[str, Callable[[SourceTree], dict[str, Said]]] = {
    "flags": read_flags,
    "variables": read_variables,
    "compiled": read_compiled,
    "deepseek_v4": read_deepseek,
    "docker": arguments,
    "packages": every,
}
# Of the form of each table's file.
_VERSIONS = {
    "flags": 2,
    "variables": 1,
    "compiled": 1,
    "deepseek_v4": 1,
    "docker": 1,
    "packages": 1,
}


def updated(table: Json | None, name: str, said: Mapping[str, Mapping[str, Said]]) -> Json:
    """Return a table with more releases, or with some read again.

    Args:
        table: Its content so far, ``None`` for none.
        name: One of ``TABLES``, which is also the name of its file.
        said: What each release says, from its reader.
    """
    schema = f"dsv4-doctor/{name}/{_VERSIONS[name]}"
    return histories.add(table or histories.empty(schema, name), name, said)
