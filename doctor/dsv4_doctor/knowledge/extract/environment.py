"""The environment variables that a tree really reads, with the default of each.

Read are ``os.getenv``, ``os.environ`` and ``envs.NAME`` in Python, ``$ENV{NAME}`` in CMake, and the
table of ``vllm/envs.py`` with its helpers. What is only set for others is not listed.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dsv4_doctor.knowledge.extract.flag_values import choices, plain
from dsv4_doctor.knowledge.extract.python_eval import Scope
from dsv4_doctor.knowledge.extract.python_source import parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dsv4_doctor.knowledge.extract.cmake_syntax import Command
    from dsv4_doctor.knowledge.extract.facts import Json
    from dsv4_doctor.knowledge.extract.python_eval import Evaluator
    from dsv4_doctor.knowledge.extract.tree import SourceTree

ENVS, SETUP = "vllm/envs.py", "setup.py"
# Read at run time, but by nobody who serves a model.
_NOT_SERVING = ("vllm/benchmarks/", "vllm/assets/")

_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
_CMAKE = re.compile(r"\bENV\{(\w+)\}")
_MENTION = re.compile(rb"environ\s*(?:\.\s*get\s*\(|\[)|\bin\s+(?:os\s*\.\s*)?environ|getenv\s*\(")
_TABLE = "environment_variables"
_CHOICES = re.compile(r"env(?:_list|_set)?_with_choices")


@dataclass(frozen=True)
class Reading:
    """One place that reads a variable.

    Attributes:
        default: In a tuple, as JSON; ``None`` when it is not established.
    """

    name: str
    file: str
    line: int
    default: tuple[Any] | None = None
    choices: tuple[str, ...] = ()


@dataclass
class Variable:
    """What a tree says of one variable: the readings, the telling one first."""

    readings: list[Reading] = field(default_factory=list)

    def said(self) -> tuple[Json, str, int]:
        """Return its attributes with file and line, as the tables over releases take them."""
        order = sorted(self.readings, key=lambda each: (_rank(each.file), each.file, each.line))
        first = order[0]
        says: Json = {"read_by": list(dict.fromkeys(_reader(each.file) for each in order))}
        if first.default is not None:
            says["default"] = first.default[0]
        if first.choices:
            says["choices"] = list(first.choices)
        return says, first.file, first.line


def _rank(file: str) -> int:
    return {ENVS: 0, SETUP: 1}.get(file, 2 if file.endswith((".txt", ".cmake")) else 3)


def _reader(file: str) -> str:
    if file in {ENVS, SETUP}:
        return file
    return "CMake" if file.endswith((".txt", ".cmake")) else "vllm"


def variables(
    tree: SourceTree, evaluator: Evaluator, cmake: Iterable[tuple[str, Iterable[Command]]]
) -> dict[str, Variable]:
    """Return the variables by name.

    Args:
        tree: A vLLM tree.
        evaluator: Of its modules.
        cmake: Its CMake files, parsed.

    Raises:
        SyntaxError: A file is no Python.
    """
    found: dict[str, Variable] = {}
    for file in sorted(tree.content):
        if not file.endswith(".py") or file.startswith(_NOT_SERVING):
            continue
        if file in {SETUP, ENVS} or (file.startswith("vllm/") and _mentions(tree, file)):
            for each in _readings(tree, file, evaluator):
                found.setdefault(each.name, Variable()).readings.append(each)
    for file, commands in cmake:
        for command in commands:
            for argument in command.arguments:
                for match in _CMAKE.finditer(argument.text):
                    reading = Reading(match[1], file, argument.line)
                    found.setdefault(match[1], Variable()).readings.append(reading)
    return dict(sorted(found.items()))


def _mentions(tree: SourceTree, file: str) -> bool:
    return _MENTION.search(tree.content[file]) is not None


def _readings(tree: SourceTree, file: str, evaluator: Evaluator) -> Iterator[Reading]:
    module = evaluator.modules.by_file(file) if file != SETUP else None
    body = module.body if module is not None else parse(tree.text(file) or "", file)
    reader = _Reader(file, evaluator, Scope(module) if module is not None else None)
    tabled: set[str] = set()
    for key, node in _table(body) if file == ENVS else ():
        reading = reader.entry(key, node)
        if reading is not None:
            tabled.add(reading.name)
            yield reading
    for inner in ast.walk(body):
        reading = reader.reading(inner)
        if reading is not None and _NAME.fullmatch(reading.name) and reading.name not in tabled:
            yield reading


def _table(body: ast.Module) -> Iterator[tuple[ast.Constant, ast.expr]]:
    """The table of envs.py, whose values are called when somebody asks for a variable."""
    for node in ast.walk(body):
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
        if _TABLE in map(_last_name, targets) and isinstance(value, ast.Dict):
            for key, each in zip(value.keys, value.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key, each


@dataclass(frozen=True)
class _Reader:
    """Finds the readings in one file.

    Attributes:
        scope: Where its expressions stand; ``None`` for a file that is no module of the tree.
    """

    file: str
    evaluator: Evaluator
    scope: Scope | None

    def entry(self, key: ast.Constant, node: ast.expr) -> Reading | None:
        """What the table says of a variable; ``None`` when the entry reads only others."""
        name, line = str(key.value), key.lineno
        for inner in ast.walk(node):
            if isinstance(inner, ast.IfExp):
                unset = _when_unset(inner, name)
                if unset is not None:
                    return Reading(name, self.file, line, self._plain(unset))
            if isinstance(inner, ast.Call) and _chooses(inner, name):
                return self._with_choices(name, line, inner)
            reading = self.reading(inner)
            if reading is not None and reading.name == name:
                return Reading(name, self.file, line, reading.default)
        return None

    def reading(self, node: ast.AST) -> Reading | None:
        """What a piece of syntax reads, ``None`` for one that reads nothing."""
        name = ""
        default: tuple[Any] | None = None
        if isinstance(node, ast.Call) and node.args and _gets(node.func):
            name = _text(node.args[0])
            default = self._plain(node.args[1]) if len(node.args) > 1 else (None,)
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            name = _text(node.slice) if _is_environ(node.value) else ""
        elif isinstance(node, ast.Compare) and _is_environ(node.comparators[0]):
            name = _text(node.left)
        elif isinstance(node, ast.Attribute) and self.file == SETUP:
            name = node.attr if _last_name(node.value) == "envs" else ""
        return Reading(name, self.file, getattr(node, "lineno", 0), default) if name else None

    def _with_choices(self, name: str, line: int, node: ast.Call) -> Reading:
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        default = node.args[1] if len(node.args) > 1 else given.get("default")
        allowed = node.args[2] if len(node.args) > 2 else given.get("choices")
        known = allowed is not None and self.scope is not None
        listed = (
            choices(self.evaluator.value(allowed, self.scope)) if known and self.scope else None
        )
        value = self._plain(default) if default is not None else None
        return Reading(name, self.file, line, value, tuple(listed or ()))

    def _plain(self, node: ast.expr) -> tuple[Any] | None:
        if self.scope is not None:
            return plain(self.evaluator.value(node, self.scope))
        return (node.value,) if isinstance(node, ast.Constant) else None


def _when_unset(node: ast.IfExp, name: str) -> ast.expr | None:
    """The branch for a variable that is not set, of a test whether it is."""
    test = node.test
    if isinstance(test, ast.Call):
        asked = _gets(test.func) and [_text(each) for each in test.args] == [name]
        return node.orelse if asked else None
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or _text(test.left) != name:
        return None
    if not _is_environ(test.comparators[0]):
        return None
    return node.body if isinstance(test.ops[0], ast.NotIn) else node.orelse


def _chooses(node: ast.Call, name: str) -> bool:
    called = _last_name(node.func)
    return bool(_CHOICES.fullmatch(called) and node.args and _text(node.args[0]) == name)


def _gets(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute) and node.attr == "get":
        return _is_environ(node.value)
    return _last_name(node) == "getenv"


def _is_environ(node: ast.expr) -> bool:
    return _last_name(node) == "environ"


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
