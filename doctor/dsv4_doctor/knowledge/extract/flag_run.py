"""Follows the functions of a tree that register the flags of ``vllm serve``.

It goes the way of vLLM's own start: from the subcommand through ``make_arg_parser`` to the
``add_cli_args`` of each class. Branches that only a running vLLM could decide are all taken.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dsv4_doctor.knowledge.extract import python_calls
from dsv4_doctor.knowledge.extract.config_fields import Manner, fields, keywords
from dsv4_doctor.knowledge.extract.python_eval import UNKNOWN, Evaluator, Scope, Unknown, known
from dsv4_doctor.knowledge.extract.python_modules import ClassRef, FunctionRef, Module

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsv4_doctor.knowledge.extract.python_modules import Modules

SUBCOMMAND = "serve"
_DEEPEST = 12
_KEYWORD_MAKERS = ("get_kwargs", "_compute_kwargs", "literal_to_kwargs")
_GROUPS = frozenset({"add_argument_group", "add_mutually_exclusive_group"})


class Parser:
    """Stands for the parser of ``vllm serve``."""


PARSER = Parser()


@dataclass(frozen=True)
class Registered:
    """One call of ``add_argument``.

    Attributes:
        names: Such as ``--quantization`` and ``-q``.
        keywords: Its keyword arguments, as far as they are known.
        whole: Whether all keywords are known by name.
    """

    names: tuple[str, ...]
    keywords: dict[str, Any]
    whole: bool
    file: str
    line: int


class Runner(Evaluator):
    """An evaluator that also goes into functions that get the parser or a table of keywords."""

    def __init__(self, modules: Modules) -> None:
        super().__init__(modules)
        self.registered: list[Registered] = []
        self.grouped: set[str] = set()
        self.owners: list[tuple[ClassRef | None, ClassRef | None]] = []
        arguments = modules.get("vllm.engine.arg_utils")
        made = [arguments.bindings.get(name) for name in _KEYWORD_MAKERS] if arguments else []
        self.manner = Manner.of(
            [FunctionRef(arguments, each) for each in made if isinstance(each, ast.FunctionDef)]
            if arguments is not None
            else []
        )

    def run(self, function: FunctionRef, given: dict[str, Any], of: ClassRef | None = None) -> Any:
        """Go through a function and return its value."""
        if len(self.owners) > _DEEPEST:
            return UNKNOWN
        self.owners.append((function.owner, of))
        try:
            return self.block(function.node.body, Scope(function.module, dict(given)))[1]
        finally:
            self.owners.pop()

    def block(self, body: Sequence[ast.stmt], scope: Scope) -> tuple[bool, Any]:
        """Go through statements; whether the function ended there, and with what."""
        for statement in body:
            ended, value = self._statement(statement, scope)
            if ended:
                return True, value
        return False, None

    def _statement(self, statement: ast.stmt, scope: Scope) -> tuple[bool, Any]:
        if isinstance(statement, ast.Return):
            return True, self.value(statement.value, scope) if statement.value else None
        if isinstance(statement, ast.If):
            return self._if(statement, scope)
        if isinstance(statement, ast.With):
            return self.block(statement.body, scope)
        if isinstance(statement, ast.Try):
            return self.block([*statement.body, *statement.finalbody], scope)
        self._simple(statement, scope)
        return False, None

    def _simple(self, statement: ast.stmt, scope: Scope) -> None:
        """Go through a statement that does not end the function."""
        match statement:
            case ast.Expr():
                self.value(statement.value, scope)
            case ast.Assign():
                value = self.value(statement.value, scope)
                for target in statement.targets:
                    self._bind(target, value, scope)
            case ast.AnnAssign() if statement.value is not None:
                self._bind(statement.target, self.value(statement.value, scope), scope)
            case ast.AugAssign():
                self._augment(statement, scope)
            case ast.Delete():
                for target in statement.targets:
                    self._delete(target, scope)
            case ast.Import() | ast.ImportFrom():
                self._import(statement, scope)
            case ast.For():
                self._for(statement, scope)

    def _bind(self, target: ast.expr, value: Any, scope: Scope) -> None:
        if isinstance(target, ast.Name):
            scope.names[target.id] = value
        elif isinstance(target, ast.Subscript):
            of, key = self.value(target.value, scope), self.value(target.slice, scope)
            if isinstance(of, dict) and isinstance(key, (str, int)):
                of[key] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            parts = value if isinstance(value, list) and len(value) == len(target.elts) else None
            for at, each in enumerate(target.elts):
                self._bind(each, UNKNOWN if parts is None else parts[at], scope)

    def _augment(self, statement: ast.AugAssign, scope: Scope) -> None:
        target = statement.target
        if isinstance(target, (ast.Name, ast.Subscript)):
            whole = ast.BinOp(target, statement.op, statement.value)
            self._bind(target, self._binop(whole, scope), scope)

    def _delete(self, target: ast.expr, scope: Scope) -> None:
        if isinstance(target, ast.Subscript):
            of, key = self.value(target.value, scope), self.value(target.slice, scope)
            if isinstance(of, dict) and isinstance(key, (str, int)):
                of.pop(key, None)

    def _import(self, statement: ast.Import | ast.ImportFrom, scope: Scope) -> None:
        for alias in statement.names:
            name = alias.asname or alias.name.split(".")[0]
            binding = self.modules.imported(scope.module, statement, name)
            scope.names[name] = UNKNOWN if binding is None else self.bound(binding, alias.name)

    def _if(self, statement: ast.If, scope: Scope) -> tuple[bool, Any]:
        test = self.value(statement.test, scope)
        if known(test):
            return self.block(statement.body if test else statement.orelse, scope)
        # Either branch may run, so that neither ends the function.
        for body in (statement.orelse, statement.body):
            self.block(body, scope)
        return False, None

    def _for(self, statement: ast.For, scope: Scope) -> None:
        items = self.items(self.value(statement.iter, scope))
        for item in [UNKNOWN] if items is None else items:
            self._bind(statement.target, item, scope)
            if self.block(statement.body, scope)[0]:
                return

    def _call(self, node: ast.Call, scope: Scope) -> Any:
        if isinstance(node.func, ast.Attribute):
            of = self.value(node.func.value, scope)
            if isinstance(of, Parser):
                return self._of_parser(node, scope)
        name = ast.unparse(node.func).rpartition(".")[2]
        if name == "add_parser" and node.args:
            return self._subcommand(node, scope)
        if name == "get_kwargs" and node.args:
            of = self.value(node.args[0], scope)
            return self._keywords(of) if isinstance(of, ClassRef) else UNKNOWN
        given = [self.value(each, scope) for each in node.args]
        named = {each.arg: self.value(each.value, scope) for each in node.keywords if each.arg}
        if any(isinstance(each, (Parser, dict)) for each in [*given, *named.values()]):
            found = self._follow(node, given, named, scope)
            if not isinstance(found, Unknown):
                return found
        return python_calls.call(self, node, scope)

    def _subcommand(self, node: ast.Call, scope: Scope) -> Any:
        """The parser of the subcommand, which takes help of its own accord."""
        if self.value(node.args[0], scope) != SUBCOMMAND:
            return UNKNOWN
        place = scope.module.file, node.lineno
        given = {"action": "store_true", "help": "", "default": False}
        self.registered.append(Registered(("--help", "-h"), given, True, *place))
        return PARSER

    def _keywords(self, of: ClassRef) -> dict[str, Any]:
        self.grouped.add(of.name)
        return {each.name: keywords(each, self.manner) for each in fields(self, of)}

    def _of_parser(self, node: ast.Call, scope: Scope) -> Any:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name in _GROUPS:
            return PARSER
        if name == "add_argument":
            self._add(node, scope)
        return UNKNOWN

    def _add(self, node: ast.Call, scope: Scope) -> None:
        names: list[Any] = []
        whole = True
        for each in node.args:
            inner = each.value if isinstance(each, ast.Starred) else each
            value = self.value(inner, scope)
            names += (self.items(value) or []) if isinstance(each, ast.Starred) else [value]
        given: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.value(keyword.value, scope)
            if keyword.arg is not None:
                given[keyword.arg] = value
            elif isinstance(value, dict):
                given |= value
            else:
                whole = False
        texts = tuple(each for each in names if isinstance(each, str))
        line = next((each.lineno for each in node.args), node.lineno)
        self.registered.append(Registered(texts, given, whole, scope.module.file, line))

    def _follow(self, node: ast.Call, given: list[Any], named: dict[str, Any], scope: Scope) -> Any:
        function, of = self._target(node.func, scope)
        if function is None:
            return UNKNOWN
        return self.run(function, self._bound(function, of, given, named), of)

    def _target(self, node: ast.expr, scope: Scope) -> tuple[FunctionRef | None, ClassRef | None]:
        """The function that a call is of, and the class that it is called on."""
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "super()":
            owner, of = self.owners[-1] if self.owners else (None, None)
            known_here = owner is not None and of is not None
            return self.modules.method(
                of, node.attr, after=owner
            ) if of and known_here else None, of
        value = self.value(node.value, scope) if isinstance(node, ast.Attribute) else None
        if isinstance(value, ClassRef) and isinstance(node, ast.Attribute):
            return self.modules.method(value, node.attr), value
        if isinstance(node, ast.Name) or isinstance(value, Module):
            found = self.value(node, scope)
            return (found, None) if isinstance(found, FunctionRef) else (None, None)
        return None, None

    def _bound(
        self, function: FunctionRef, of: ClassRef | None, given: list[Any], named: dict[str, Any]
    ) -> dict[str, Any]:
        arguments = function.node.args
        names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
        marks = {ast.unparse(each) for each in function.node.decorator_list}
        if function.owner is not None and "staticmethod" not in marks:
            given = [of if "classmethod" in marks else UNKNOWN, *given]
        scope = Scope(function.module)
        values: dict[str, Any] = dict.fromkeys(names, UNKNOWN)
        for name, default in zip(reversed(names), reversed(arguments.defaults), strict=False):
            values[name] = self.value(default, scope)
        values |= dict(zip(names, given, strict=False))
        return values | named
