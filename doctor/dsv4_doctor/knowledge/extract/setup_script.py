"""What a release's setup.py declares and reads, from its syntax tree."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.version import Version

from dsv4_doctor.knowledge.extract.nvcc import ranges, specifiers
from dsv4_doctor.knowledge.extract.python_source import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.knowledge.extract.nvcc import Range

_NVCC = "get_nvcc_cuda_version"
_PYTHON = "sys.version_info"
# A build for CUDA from source, with a toolkit.
_KNOWN = {
    "_is_cuda()": True,
    "_build_custom_ops()": True,
    "_build_core_ext()": True,
    "CUDA_HOME": True,
    "envs.VLLM_USE_PRECOMPILED": False,
    "USE_PRECOMPILED_EXTENSIONS": False,
} | dict.fromkeys(
    [f"_is_{each}()" for each in ("hip", "cpu", "xpu", "tpu", "neuron", "hpu", "openvino")], False
)


@dataclass(frozen=True)
class DeclaredExtension:
    """One ``CMakeExtension`` that a CUDA build declares.

    Attributes:
        module: Dotted name, such as ``vllm._C``.
        nvcc: Specifier on nvcc, empty for any.
        python: Specifier on Python, empty for any.
        line: Of the declaration.
        gate_line: Of the comparison with nvcc's version, when there is one.
    """

    module: str
    optional: bool
    nvcc: str
    python: str
    line: int
    gate_line: int | None

    @property
    def name(self) -> str:
        """Name of the CMake target."""
        return self.module.rpartition(".")[2]


@dataclass(frozen=True)
class _Point:
    nvcc: str
    python: tuple[int, ...]


def extensions(text: str) -> tuple[tuple[DeclaredExtension, ...], tuple[str, ...]]:
    """Return the extensions of a CUDA build in order, and what could not be told.

    Raises:
        SyntaxError: It is no Python.
    """
    tree = parse(text, "setup.py")
    compiler = ranges(_versions(tree, _NVCC))
    interpreter = ranges(_versions(tree, _PYTHON))
    found, problems = [], []
    for call, tests in _declarations(tree, ()):
        module = _keyword(call, "name")
        if not isinstance(module, str):
            problems.append(f"setup.py:{call.lineno}: an extension without a plain name")
            continue
        holds = [
            (first, second, _holds(tests, _Point(first.sample, _numbers(second.sample))))
            for first in compiler
            for second in interpreter
        ]
        if any(value is None for *_, value in holds):
            problems.append(f"setup.py:{call.lineno}: when {module} is declared")
            continue
        nvcc = [each for each, _, value in holds if value]
        python = [each for _, each, value in holds if value]
        if nvcc:
            found.append(
                _declared(call, module, _one(compiler, nvcc), _one(interpreter, python), tests)
            )
    return _last_of_each(found), tuple(problems)


def _last_of_each(found: list[DeclaredExtension]) -> tuple[DeclaredExtension, ...]:
    return tuple({each.name: each for each in found}.values())


def _declared(
    call: ast.Call, module: str, nvcc: str, python: str, tests: tuple[tuple[ast.expr, bool], ...]
) -> DeclaredExtension:
    gates = [
        node.lineno
        for test, _ in tests
        for node in ast.walk(test)
        if isinstance(node, ast.Compare) and _NVCC in ast.unparse(node.left)
    ]
    optional = _keyword(call, "optional") is True
    return DeclaredExtension(
        module, optional, nvcc, python, call.lineno, gates[0] if gates else None
    )


def _one(known: tuple[Range, ...], chosen: list[Range]) -> str:
    return " or ".join(specifiers(known, chosen))


def _declarations(
    node: ast.AST, tests: tuple[tuple[ast.expr, bool], ...]
) -> Iterator[tuple[ast.Call, tuple[tuple[ast.expr, bool], ...]]]:
    """Give every CMakeExtension call with the conditions around it."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Lambda)):
        return
    if isinstance(node, ast.If):
        for child in node.body:
            yield from _declarations(child, (*tests, (node.test, True)))
        for child in node.orelse:
            yield from _declarations(child, (*tests, (node.test, False)))
        return
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "CMakeExtension":
        yield node, tests
    for inner in ast.iter_child_nodes(node):
        yield from _declarations(inner, tests)


def _keyword(call: ast.Call, name: str) -> object:
    for each in call.keywords:
        if each.arg == name and isinstance(each.value, ast.Constant):
            return each.value.value
    return None


def _holds(tests: tuple[tuple[ast.expr, bool], ...], point: _Point) -> bool | None:
    values = []
    for test, wanted in tests:
        value = _value(test, point)
        values.append(None if value is None else value is wanted)
    return _all(values)


def _all(values: list[bool | None]) -> bool | None:
    if False in values:
        return False
    return None if None in values else True


def _value(node: ast.expr, point: _Point) -> bool | None:
    if isinstance(node, ast.BoolOp):
        values = [_value(each, point) for each in node.values]
        if isinstance(node.op, ast.And):
            return _all(values)
        inverse = _all([None if each is None else not each for each in values])
        return None if inverse is None else not inverse
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        value = _value(node.operand, point)
        return None if value is None else not value
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _compare(node, point)
    return _KNOWN.get(ast.unparse(node))


def _compare(node: ast.Compare, point: _Point) -> bool | None:
    subject, limit = ast.unparse(node.left), _limit(node.comparators[0])
    if limit is None or not (_NVCC in subject or subject == _PYTHON):
        return None
    found = _numbers(point.nvcc) if _NVCC in subject else point.python
    # get_nvcc_cuda_version() gives major and minor only.
    found = found[:2]
    wanted = (*limit, 0)[:2] if len(limit) == 1 else limit
    # A strict comparison has its threshold one minor version on, which is not known.
    match node.ops[0]:
        case ast.GtE():
            return found >= wanted
        case ast.Lt():
            return found < wanted
        case _:
            return None


def _limit(node: ast.expr) -> tuple[int, ...] | None:
    """Read ``Version("12.3")`` or ``(3, 11)``."""
    if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
        return _numbers(str(node.args[0].value))
    if isinstance(node, ast.Tuple):
        values = [each.value for each in node.elts if isinstance(each, ast.Constant)]
        return tuple(each for each in values if isinstance(each, int)) or None
    return None


def _numbers(text: str) -> tuple[int, ...]:
    return Version(text).release


def _versions(tree: ast.AST, subject: str) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and subject in ast.unparse(node.left):
            limit = _limit(node.comparators[0])
            if limit is not None:
                found.add(".".join(map(str, limit)))
    return found
