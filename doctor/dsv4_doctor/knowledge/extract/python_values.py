"""Values that a Python file of a tree assigns, from its syntax tree."""

from __future__ import annotations

import ast

from dsv4_doctor.knowledge.extract.python_source import parse


def assigned(text: str, name: str, file: str = "") -> tuple[str, int] | None:
    """Return a string that the module assigns to a name or a dictionary key, with its line.

    For ``"NAME": lambda: os.getenv("NAME", "").lower() or "13.0"`` that is the last alternative;
    for ``os.getenv("NAME", "13.0")`` the default.

    Raises:
        SyntaxError: It is no Python.
    """
    for node in ast.walk(parse(text, file)):
        if isinstance(node, ast.Assign) and [ast.unparse(each) for each in node.targets] == [name]:
            return _default(node.value)
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == name:
                    return _default(value)
    return None


def _default(node: ast.expr) -> tuple[str, int] | None:
    if isinstance(node, ast.Lambda):
        return _default(node.body)
    if isinstance(node, ast.BoolOp):
        return _default(node.values[-1])
    if isinstance(node, ast.Call):
        inner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if len(node.args) > 1:
            return _default(node.args[1])
        return _default(inner) if isinstance(inner, ast.Call) else None
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value, node.lineno
    return None
