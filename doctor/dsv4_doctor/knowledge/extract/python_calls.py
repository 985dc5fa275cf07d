"""Calls whose value follows from the text: of Python's own functions and of dataclasses'."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from dsv4_doctor.knowledge.extract.python_eval import (
    UNKNOWN,
    Evaluator,
    Expression,
    Scope,
    known,
)
from dsv4_doctor.knowledge.extract.python_modules import ClassRef
from dsv4_doctor.knowledge.extract.type_hints import hints

if TYPE_CHECKING:
    from collections.abc import Callable

_CONVERSIONS: dict[str, Callable[[Any], Any]] = {"int": int, "float": float, "str": str}
_COLLECTIONS = frozenset({"list", "tuple", "set", "sorted", "frozenset"})
_TEXT_METHODS = frozenset({"replace", "lower", "upper", "strip", "removeprefix", "removesuffix"})
_MAKERS: dict[str, Any] = {"list": [], "dict": {}, "set": [], "tuple": []}


def call(evaluator: Evaluator, node: ast.Call, scope: Scope) -> Any:
    """Return the value of a call, :data:`UNKNOWN` when it does not follow from the text."""
    name = ast.unparse(node.func).rpartition(".")[2]
    if isinstance(node.func, ast.Attribute):
        of = evaluator.value(node.func.value, scope)
        if isinstance(of, (str, dict, list)):
            return _method(evaluator, of, name, node, scope)
    special = _SPECIAL.get(name)
    if special is not None:
        return special(evaluator, node, scope)
    if isinstance(node.func, ast.Name) and len(node.args) <= 1 and not node.keywords:
        return _builtin(evaluator, name, node, scope)
    return UNKNOWN


def literal_values(evaluator: Evaluator, node: ast.expr, scope: Scope) -> Any:
    """Return what a literal type allows."""
    found = hints(evaluator.modules, scope.module, node)
    if len(found) == 1 and found[0].kind == "literal":
        return list(found[0].values)
    return UNKNOWN


def _field(evaluator: Evaluator, node: ast.Call, scope: Scope) -> Any:
    given = {each.arg: each.value for each in node.keywords}
    if "default" in given:
        return evaluator.value(given["default"], scope)
    maker = given.get("default_factory")
    if maker is None:
        return evaluator.value(node.args[0], scope) if node.args else UNKNOWN
    if isinstance(maker, ast.Lambda):
        return evaluator.value(maker.body, scope)
    name = ast.unparse(maker)
    return type(_MAKERS[name])() if name in _MAKERS else Expression(f"{name}()")


def _get_args(evaluator: Evaluator, node: ast.Call, scope: Scope) -> Any:
    return literal_values(evaluator, node.args[0], scope) if node.args else UNKNOWN


def _get_field(evaluator: Evaluator, node: ast.Call, scope: Scope) -> Any:
    values = [evaluator.value(each, scope) for each in node.args]
    if len(values) != 2 or not isinstance(values[0], ClassRef):
        return UNKNOWN
    return evaluator.class_value(values[0], str(values[1]))


def _cast(evaluator: Evaluator, node: ast.Call, scope: Scope) -> Any:
    return evaluator.value(node.args[1], scope) if len(node.args) == 2 else UNKNOWN


_SPECIAL: dict[str, Callable[[Evaluator, ast.Call, Scope], Any]] = {
    **dict.fromkeys(("field", "Field", "PydanticField"), _field),
    "get_args": _get_args,
    "get_field": _get_field,
    "cast": _cast,
}


def _builtin(evaluator: Evaluator, name: str, node: ast.Call, scope: Scope) -> Any:
    if name in _MAKERS and not node.args:
        return type(_MAKERS[name])()
    value = evaluator.value(node.args[0], scope) if node.args else UNKNOWN
    if name in _CONVERSIONS and isinstance(value, (int, float, str)):
        try:
            return _CONVERSIONS[name](value)
        except ValueError:
            return UNKNOWN
    items = evaluator.items(value) if name in _COLLECTIONS else None
    if items is None:
        return UNKNOWN
    return sorted(items, key=str) if name == "sorted" else items


def _method(evaluator: Evaluator, of: Any, name: str, node: ast.Call, scope: Scope) -> Any:
    given = [evaluator.value(each, scope) for each in node.args]
    if node.keywords or not all(known(each) for each in given):
        return UNKNOWN
    if isinstance(of, dict):
        return _of_mapping(of, name, given)
    if isinstance(of, list):
        return _of_list(evaluator, of, name, given)
    return _of_text(evaluator, str(of), name, given)


def _of_text(evaluator: Evaluator, of: str, name: str, given: list[Any]) -> Any:
    if name in _TEXT_METHODS and all(isinstance(each, str) for each in given):
        try:
            return getattr(of, name)(*given)
        except TypeError:
            return UNKNOWN
    items = evaluator.items(given[0]) if name == "join" and len(given) == 1 else None
    if items is not None and all(isinstance(each, str) for each in items):
        return of.join(items)
    return UNKNOWN


def _of_list(evaluator: Evaluator, of: list[Any], name: str, given: list[Any]) -> Any:
    if len(given) != 1 or name not in {"append", "remove", "extend"}:
        return UNKNOWN
    items = evaluator.items(given[0]) if name == "extend" else given
    if items is None:
        return UNKNOWN
    if name == "remove":
        of[:] = [each for each in of if each != given[0]]
    else:
        of += items
    return None


def _of_mapping(of: dict[Any, Any], name: str, given: list[Any]) -> Any:
    if name == "items":
        return [list(each) for each in of.items()]
    if name in {"keys", "values"}:
        return list(of) if name == "keys" else list(of.values())
    if name in {"get", "pop"} and given and isinstance(given[0], (str, int)):
        default = given[1] if len(given) > 1 else (None if name == "get" else UNKNOWN)
        take = of.get if name == "get" else of.pop
        return take(given[0], default)
    return UNKNOWN
