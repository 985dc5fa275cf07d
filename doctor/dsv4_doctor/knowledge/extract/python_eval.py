"""Values of Python expressions in a tree, as far as they follow from its text alone.

Nothing is run: what does not follow is an :class:`Expression` with its text when a reader of the
tree would understand that, else :data:`UNKNOWN`.
"""

from __future__ import annotations

import ast
import operator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from dsv4_doctor.knowledge.extract.python_modules import (
    ClassRef,
    FunctionRef,
    Module,
    Modules,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from dsv4_doctor.knowledge.extract.python_modules import Binding

_DEEPEST = 40


class Unknown:
    """The type of :data:`UNKNOWN`."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = Unknown()


@dataclass(frozen=True)
class Expression:
    """A value that only running the tree gives, such as ``envs.VLLM_SERVER_DEV_MODE``."""

    text: str


@dataclass(frozen=True)
class Member:
    """A member of an enumeration."""

    name: str
    value: Any


@dataclass
class Scope:
    """Where an expression stands: a module, and the names of a function around it."""

    module: Module
    names: dict[str, Any] = field(default_factory=dict)


Value = Any
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: lambda left, right: left == right,
    ast.NotEq: lambda left, right: left != right,
    ast.Is: lambda left, right: left is right,
    ast.IsNot: lambda left, right: left is not right,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
}
_ENUMS = {"Enum", "StrEnum", "IntEnum"}


def known(value: Value) -> bool:
    """Whether a value follows from the text."""
    return not isinstance(value, (Unknown, Expression))


class Evaluator:
    """Evaluates expressions of a tree's modules."""

    def __init__(self, modules: Modules) -> None:
        self.modules = modules
        self._depth = 0

    def value(self, node: ast.expr | None, scope: Scope) -> Value:
        """Return the value of an expression."""
        if node is None or self._depth > _DEEPEST:
            return UNKNOWN
        self._depth += 1
        try:
            method = getattr(self, f"_{type(node).__name__.lower()}", None)
            found = UNKNOWN if method is None else method(node, scope)
        finally:
            self._depth -= 1
        return self._text(node, scope) if found is UNKNOWN else found

    def _text(self, node: ast.expr, scope: Scope) -> Value:
        """The expression itself, unless it is about names that exist only while it runs."""
        local = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        return UNKNOWN if local & set(scope.names) else Expression(ast.unparse(node))

    def _constant(self, node: ast.Constant, _: Scope) -> Value:
        return UNKNOWN if isinstance(node.value, (bytes, complex, type(...))) else node.value

    def _name(self, node: ast.Name, scope: Scope) -> Value:
        if node.id in scope.names:
            return scope.names[node.id]
        binding = self.modules.find(scope.module, node.id)
        if binding is None:
            return Expression(node.id)
        return self.bound(binding, node.id)

    def bound(self, binding: Binding, name: str) -> Value:
        """Return what a module binds to a name."""
        statement = binding.statement
        if statement is None:
            return binding.module
        if isinstance(statement, ast.ClassDef):
            return ClassRef(binding.module, statement)
        if isinstance(statement, ast.FunctionDef):
            return FunctionRef(binding.module, statement)
        if isinstance(statement, (ast.Assign, ast.AnnAssign)):
            found = self.value(statement.value, Scope(binding.module))
            return Expression(name) if isinstance(found, Unknown) else found
        return UNKNOWN

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Value:
        of = self.value(node.value, scope)
        if isinstance(of, ClassRef):
            return of.name if node.attr == "__name__" else self.class_value(of, node.attr)
        if isinstance(of, Module):
            binding = self.modules.find(of, node.attr)
            return UNKNOWN if binding is None else self.bound(binding, node.attr)
        if isinstance(of, Member) and node.attr in {"name", "value"}:
            return of.name if node.attr == "name" else of.value
        if node.attr == "__args__" and isinstance(of, ast.expr):
            return UNKNOWN
        return UNKNOWN

    def class_value(self, of: ClassRef, name: str) -> Value:
        """Return what a class body binds to a name; for a field of a dataclass its default."""
        for each in self.modules.ancestors(of):
            for node in each.node.body:
                if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name:
                    return self.value(node.value, Scope(each.module))
                if isinstance(node, ast.Assign) and name in map(ast.unparse, node.targets):
                    found = self.value(node.value, Scope(each.module))
                    return Member(name, found) if self.is_enum(of) else found
        return UNKNOWN

    def is_enum(self, of: ClassRef) -> bool:
        """Whether a class is an enumeration."""
        bases = [base for each in self.modules.ancestors(of) for base in each.node.bases]
        return any(ast.unparse(base).rpartition(".")[2] in _ENUMS for base in bases)

    def members(self, of: ClassRef) -> list[Member]:
        """Return the members of an enumeration."""
        return [
            Member(target.id, self.value(node.value, Scope(of.module)))
            for node in of.node.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name) and not target.id.startswith("_")
        ]

    def items(self, value: Value) -> list[Value] | None:
        """Return what a loop over a value goes through, ``None`` when that is not known."""
        if isinstance(value, (list, tuple)):
            return list(value)
        if isinstance(value, dict):
            return list(value)
        if isinstance(value, ClassRef) and self.is_enum(value):
            return list(self.members(value))
        return None

    def _list(self, node: ast.List | ast.Tuple | ast.Set, scope: Scope) -> Value:
        found: list[Value] = []
        for each in node.elts:
            inner = each.value if isinstance(each, ast.Starred) else each
            value = self.value(inner, scope)
            if isinstance(each, ast.Starred):
                several = self.items(value)
                if several is None:
                    return UNKNOWN
                found += several
            elif known(value):
                found.append(value)
            else:
                return UNKNOWN
        return found

    _tuple = _set = _list

    def _dict(self, node: ast.Dict, scope: Scope) -> Value:
        found: dict[Any, Value] = {}
        for key, each in zip(node.keys, node.values, strict=True):
            value = self.value(each, scope)
            if key is None:
                if not isinstance(value, dict):
                    return UNKNOWN
                found |= value
                continue
            name = self.value(key, scope)
            if not isinstance(name, (str, int)):
                return UNKNOWN
            found[name] = value
        return found

    def _unaryop(self, node: ast.UnaryOp, scope: Scope) -> Value:
        value = self.value(node.operand, scope)
        if not known(value):
            return UNKNOWN
        if isinstance(node.op, ast.Not):
            return not value
        return (
            -value if isinstance(node.op, ast.USub) and isinstance(value, (int, float)) else UNKNOWN
        )

    def _binop(self, node: ast.BinOp, scope: Scope) -> Value:
        left, right = self.value(node.left, scope), self.value(node.right, scope)
        compute = _OPERATORS.get(type(node.op))
        numbers = all(isinstance(each, (int, float)) for each in (left, right))
        texts = all(isinstance(each, str) for each in (left, right))
        lists = all(isinstance(each, list) for each in (left, right))
        if compute is None or not (numbers or ((texts or lists) and isinstance(node.op, ast.Add))):
            return UNKNOWN
        try:
            return compute(left, right)
        except (ArithmeticError, ValueError):
            return UNKNOWN

    def _compare(self, node: ast.Compare, scope: Scope) -> Value:
        left, right = self.value(node.left, scope), self.value(node.comparators[0], scope)
        compare = _COMPARISONS.get(type(node.ops[0]))
        if len(node.ops) != 1 or compare is None or not (known(left) and known(right)):
            return UNKNOWN
        if isinstance(node.ops[0], (ast.In, ast.NotIn)) and not isinstance(right, (list, dict)):
            return UNKNOWN
        return compare(left, right)

    def _boolop(self, node: ast.BoolOp, scope: Scope) -> Value:
        values = [self.value(each, scope) for each in node.values]
        wanted = isinstance(node.op, ast.Or)
        for value in values[:-1]:
            if not known(value):
                return UNKNOWN
            if bool(value) is wanted:
                return value
        return values[-1]

    def _ifexp(self, node: ast.IfExp, scope: Scope) -> Value:
        test = self.value(node.test, scope)
        if known(test):
            return self.value(node.body if test else node.orelse, scope)
        return UNKNOWN

    def _joinedstr(self, node: ast.JoinedStr, scope: Scope) -> Value:
        parts = []
        for each in node.values:
            value = self.value(each.value if isinstance(each, ast.FormattedValue) else each, scope)
            if not isinstance(value, (str, int)):
                return UNKNOWN
            parts.append(str(value))
        return "".join(parts)

    def _subscript(self, node: ast.Subscript, scope: Scope) -> Value:
        of, key = self.value(node.value, scope), self.value(node.slice, scope)
        if isinstance(of, dict) and isinstance(key, (str, int)):
            return of.get(key, UNKNOWN)
        if isinstance(of, list) and isinstance(key, int) and -len(of) <= key < len(of):
            return of[key]
        return UNKNOWN

    def _listcomp(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp, scope: Scope) -> Value:
        only = node.generators[0]
        items = self.items(self.value(only.iter, scope))
        if len(node.generators) != 1 or items is None:
            return UNKNOWN
        if not isinstance(only.target, ast.Name):
            return UNKNOWN
        found = []
        for item in items:
            inner = Scope(scope.module, {**scope.names, only.target.id: item})
            tests = [self.value(each, inner) for each in only.ifs]
            value = self.value(node.elt, inner)
            if not all(known(each) for each in (*tests, value)):
                return UNKNOWN
            if all(tests):
                found.append(value)
        return found

    _generatorexp = _setcomp = _listcomp
