"""Names in the modules of a tree, followed through imports to where they are defined."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dsv4_doctor.knowledge.extract.python_source import parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dsv4_doctor.knowledge.extract.tree import SourceTree

_DEEPEST = 12


@dataclass(frozen=True)
class Module:
    """One parsed file.

    Attributes:
        name: Dotted, such as ``vllm.config``.
        file: Path inside the tree.
        bindings: What a name is bound to at the top level when the module has run: the statement.
        hinted: The same for names that are bound for type checkers only.
    """

    name: str
    file: str
    body: ast.Module
    bindings: dict[str, ast.stmt]
    hinted: dict[str, ast.stmt]


@dataclass(frozen=True)
class ClassRef:
    """A class of the tree."""

    module: Module
    node: ast.ClassDef

    @property
    def name(self) -> str:
        """Its name."""
        return self.node.name


@dataclass(frozen=True)
class FunctionRef:
    """A function of the tree, perhaps a method.

    Attributes:
        owner: The class that defines it, for a method.
    """

    module: Module
    node: ast.FunctionDef
    owner: ClassRef | None = None


@dataclass(frozen=True)
class Binding:
    """Where a name is bound: a module's statement, or a whole module when there is none."""

    module: Module
    statement: ast.stmt | None


@dataclass
class Modules:
    """The modules of a tree, each parsed once."""

    tree: SourceTree
    parsed: dict[str, Module | None] = field(default_factory=dict)
    _starred: int = 0

    def get(self, name: str) -> Module | None:
        """Return a module by its dotted name, ``None`` when the tree has none.

        Raises:
            SyntaxError: It is no Python.
        """
        if name not in self.parsed:
            stem = name.replace(".", "/")
            self.parsed[name] = None
            for file in (f"{stem}.py", f"{stem}/__init__.py"):
                text = self.tree.text(file)
                if text is not None:
                    body = parse(text, file)
                    bindings, hinted = _bindings(body.body)
                    self.parsed[name] = Module(name, file, body, bindings, hinted)
                    break
        return self.parsed[name]

    def by_file(self, file: str) -> Module | None:
        """Return the module of a file."""
        stem = file.removesuffix(".py").removesuffix("/__init__")
        return self.get(stem.replace("/", "."))

    def find(self, module: Module, name: str, *, hints: bool = False) -> Binding | None:
        """Return where a name of a module is bound, through imports.

        Args:
            module: Where the name stands.
            name: The name.
            hints: Whether what only type checkers see counts, too.
        """
        for _ in range(_DEEPEST):
            statement = module.bindings.get(name)
            if statement is None and hints:
                statement = module.hinted.get(name)
            if statement is None:
                return self._unbound(module, name)
            if not isinstance(statement, (ast.Import, ast.ImportFrom)):
                return Binding(module, statement)
            followed = self._import(module, statement, name)
            if followed is None or isinstance(followed, Binding):
                return followed
            module, name = followed
        return None

    def _unbound(self, module: Module, name: str) -> Binding | None:
        """What an import of everything brings in, or a module inside a package."""
        self._starred += 1
        try:
            for each in module.body.body if self._starred < _DEEPEST else ():
                if isinstance(each, ast.ImportFrom) and each.names[0].name == "*":
                    source = self.get(_absolute(module, each))
                    found = self.find(source, name) if source is not None else None
                    if found is not None:
                        return found
        finally:
            self._starred -= 1
        inner = self.get(f"{module.name}.{name}")
        return None if inner is None else Binding(inner, None)

    def imported(self, module: Module, statement: ast.stmt, name: str) -> Binding | None:
        """Return what an import inside a function binds a name to."""
        if not isinstance(statement, (ast.Import, ast.ImportFrom)):
            return None
        followed = self._import(module, statement, name)
        if followed is None or isinstance(followed, Binding):
            return followed
        return self.find(*followed)

    def _import(
        self, module: Module, statement: ast.Import | ast.ImportFrom, name: str
    ) -> Binding | tuple[Module, str] | None:
        for alias in statement.names:
            if (alias.asname or alias.name.split(".")[0]) != name:
                continue
            if isinstance(statement, ast.Import):
                target = self.get(alias.name if alias.asname else name)
                return None if target is None else Binding(target, None)
            source = self.get(_absolute(module, statement))
            return None if source is None else (source, alias.name)
        return None

    def ancestors(self, of: ClassRef) -> tuple[ClassRef, ...]:
        """Return a class and those of its bases that are in the tree, in order."""
        found = [of]
        for base in of.node.bases:
            name = base.id if isinstance(base, ast.Name) else ""
            target = self.find(of.module, name) if name else None
            if target is not None and isinstance(target.statement, ast.ClassDef):
                parent = ClassRef(target.module, target.statement)
                if parent.node is not of.node and len(found) < _DEEPEST:
                    found += self.ancestors(parent)
        return tuple({id(each.node): each for each in found}.values())

    def method(
        self, of: ClassRef, name: str, *, after: ClassRef | None = None
    ) -> FunctionRef | None:
        """Return a method by name; with ``after`` only those of the classes behind that one."""
        line = self.ancestors(of)
        if after is not None:
            places = [at for at, each in enumerate(line) if each.node is after.node]
            line = line[places[0] + 1 :] if places else ()
        for each in line:
            for node in each.node.body:
                if isinstance(node, ast.FunctionDef) and node.name == name:
                    return FunctionRef(each.module, node, each)
        return None


def functions(module: Module) -> Iterator[FunctionRef]:
    """Give the functions of a module and the methods of its classes."""
    for node in module.body.body:
        if isinstance(node, ast.FunctionDef):
            yield FunctionRef(module, node)
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef):
                    yield FunctionRef(module, inner, ClassRef(module, node))


def _absolute(module: Module, statement: ast.ImportFrom) -> str:
    if not statement.level:
        return statement.module or ""
    parts = module.name.split(".")
    package = parts if module.file.endswith("__init__.py") else parts[:-1]
    package = package[: len(package) - statement.level + 1]
    return ".".join([*package, *([statement.module] if statement.module else [])])


def _bindings(body: Iterable[ast.stmt]) -> tuple[dict[str, ast.stmt], dict[str, ast.stmt]]:
    bound: dict[str, ast.stmt] = {}
    hinted: dict[str, ast.stmt] = {}
    for statement in body:
        if isinstance(statement, ast.If) and _for_checkers(statement.test):
            for each in statement.body:
                hinted.update(dict.fromkeys(names(each), each))
            inner = _bindings(statement.orelse)
        elif isinstance(statement, ast.If):
            inner = _bindings([*statement.orelse, *statement.body])
        elif isinstance(statement, ast.Try):
            handlers = [each for handler in statement.handlers for each in handler.body]
            inner = _bindings([*handlers, *statement.body])
        else:
            bound.update(dict.fromkeys(names(statement), statement))
            continue
        bound |= inner[0]
        hinted |= inner[1]
    return bound, hinted


def _for_checkers(test: ast.expr) -> bool:
    return ast.unparse(test).rpartition(".")[2] == "TYPE_CHECKING"


def names(statement: ast.stmt) -> Iterator[str]:
    """Give the names that a statement binds."""
    if isinstance(statement, (ast.ClassDef, ast.FunctionDef)):
        yield statement.name
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        for alias in statement.names:
            yield alias.asname or alias.name.split(".")[0]
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            if isinstance(target, ast.Name):
                yield target.id
    elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        yield statement.target.id
