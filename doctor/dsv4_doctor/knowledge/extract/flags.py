"""The command-line flags that ``vllm serve`` takes, from the files that declare them.

A flag is declared by a call of ``add_argument`` with its name, or is a field of a dataclass of
front-end arguments, each of which becomes a flag of its name.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.knowledge.extract.tree import SourceTree

FILES = (
    "vllm/engine/arg_utils.py",
    "vllm/entrypoints/openai/cli_args.py",
    "vllm/entrypoints/launchers/cli_args.py",
    "vllm/entrypoints/common/cli_args.py",
)

_FLAG = re.compile(r"--[A-Za-z0-9][\w.-]*")
_FRONTEND = "FrontendArgs"


def flags(tree: SourceTree) -> dict[str, tuple[str, int]]:
    """Return the flags with the file and line of each declaration.

    Raises:
        SyntaxError: A file is no Python.
    """
    found: dict[str, tuple[str, int]] = {}
    for file in FILES:
        for flag, line in declared(tree.text(file) or ""):
            found.setdefault(flag, (file, line))
    return dict(sorted(found.items()))


def declared(text: str) -> Iterator[tuple[str, int]]:
    """Give the flags that a Python file declares, with their lines.

    Raises:
        SyntaxError: It is no Python.
    """
    module = ast.parse(text)
    by_field = False
    for node in ast.walk(module):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr != "add_argument":
            continue
        for argument in node.args:
            if isinstance(argument, ast.Constant) and _is_flag(argument.value):
                yield str(argument.value), argument.lineno
            by_field |= isinstance(argument, ast.JoinedStr)
    if by_field:
        yield from _fields(module)


def _is_flag(value: object) -> bool:
    return isinstance(value, str) and _FLAG.fullmatch(value) is not None


def _fields(module: ast.Module) -> Iterator[tuple[str, int]]:
    for node in module.body:
        if isinstance(node, ast.ClassDef) and node.name.endswith(_FRONTEND):
            for field in node.body:
                if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                    yield f"--{field.target.id.replace('_', '-')}", field.lineno
