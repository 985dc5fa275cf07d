"""Type hints of a tree taken apart, through aliases, into the alternatives that they allow."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dsv4_doctor.knowledge.extract.python_modules import ClassRef, Module
from dsv4_doctor.knowledge.extract.python_source import parse

if TYPE_CHECKING:
    from dsv4_doctor.knowledge.extract.python_modules import Modules

_PLAIN = frozenset({"bool", "int", "float", "str"})
_COLLECTIONS = {
    "list": "list", "List": "list", "tuple": "tuple", "Tuple": "tuple", "set": "set", "Set": "set",
    "dict": "dict", "Dict": "dict",
}  # fmt: skip
# The first argument is the type; the others say something about it.
_WRAPPERS = frozenset({"Annotated", "SkipValidation", "Final", "InitVar"})
_DEEPEST = 20


@dataclass(frozen=True)
class Hint:
    """One alternative of a type hint.

    Attributes:
        kind: ``none``, a plain or collection type of Python, ``literal``, ``class`` or ``other``.
        values: What a literal allows.
        inner: Alternatives of a collection's elements.
        of: The class of the tree.
    """

    kind: str
    values: tuple[Any, ...] = ()
    inner: tuple[Hint, ...] = ()
    of: ClassRef | None = None


def hints(modules: Modules, module: Module, node: ast.expr | None, depth: int = 0) -> list[Hint]:
    """Return the alternatives of a type hint, those of nested unions and aliases included."""
    if node is None or depth > _DEEPEST:
        return [Hint("other")]
    if isinstance(node, ast.Constant):
        return _constant(modules, module, node, depth)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        both = (node.left, node.right)
        return [hint for each in both for hint in hints(modules, module, each, depth + 1)]
    if isinstance(node, ast.Subscript):
        return _subscript(modules, module, node, depth)
    if isinstance(node, ast.Name):
        return _name(modules, module, node.id, depth)
    return [Hint("other")]


def _constant(modules: Modules, module: Module, node: ast.Constant, depth: int) -> list[Hint]:
    if node.value is None:
        return [Hint("none")]
    if not isinstance(node.value, str):
        return [Hint("other")]
    try:
        body = parse(node.value, module.file).body
    except SyntaxError:
        return [Hint("other")]
    inner = body[0].value if len(body) == 1 and isinstance(body[0], ast.Expr) else None
    return hints(modules, module, inner, depth + 1)


def _name(modules: Modules, module: Module, name: str, depth: int) -> list[Hint]:
    if name in _PLAIN or name in _COLLECTIONS:
        return [Hint(_COLLECTIONS.get(name, name))]
    binding = modules.find(module, name)
    statement = binding.statement if binding is not None else None
    if binding is not None and isinstance(statement, ast.ClassDef):
        is_dict = any(ast.unparse(base).startswith("dict") for base in statement.bases)
        return [Hint("dict") if is_dict else Hint("class", of=ClassRef(binding.module, statement))]
    if binding is not None and isinstance(statement, (ast.Assign, ast.AnnAssign)):
        return hints(modules, binding.module, statement.value, depth + 1)
    return [Hint("other")]


def _subscript(modules: Modules, module: Module, node: ast.Subscript, depth: int) -> list[Hint]:
    name = ast.unparse(node.value).rpartition(".")[2]
    given = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    if name in _WRAPPERS:
        return hints(modules, module, given[0], depth + 1)
    if name in {"Optional", "Union"}:
        found = [hint for each in given for hint in hints(modules, module, each, depth + 1)]
        return [*found, Hint("none")] if name == "Optional" else found
    if name == "Literal":
        return [_literal(modules, module, given, depth)]
    if name in _COLLECTIONS:
        inner = [hint for each in given for hint in hints(modules, module, each, depth + 1)]
        return [Hint(_COLLECTIONS[name], inner=tuple(inner))]
    return [Hint("other")]


def _literal(modules: Modules, module: Module, given: list[ast.expr], depth: int) -> Hint:
    """A literal may hold other literals by their names."""
    values: list[Any] = []
    for each in given:
        if isinstance(each, ast.Constant):
            values.append(each.value)
            continue
        for hint in hints(modules, module, each, depth + 1):
            if hint.kind != "literal":
                return Hint("other")
            values += hint.values
    return Hint("literal", values=tuple(values))
