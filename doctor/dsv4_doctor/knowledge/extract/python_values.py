"""Values that a Python file of a tree reads or assigns, from its syntax tree."""

from __future__ import annotations

import ast


def environment(text: str) -> dict[str, int]:
    """Return the environment variables that a script reads, with the first line of each.

    Raises:
        SyntaxError: It is no Python.
    """
    found: dict[str, int] = {}
    for node in ast.walk(ast.parse(text)):
        name = _variable(node)
        line = getattr(node, "lineno", 0)
        if name and name.isupper():
            found[name] = min(line, found.get(name, line))
    return dict(sorted(found.items()))


def _variable(node: ast.AST) -> str | None:
    if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "envs":
        return node.attr
    reading = isinstance(node, ast.Call) and ast.unparse(node.func) in {
        "os.getenv",
        "os.environ.get",
    }
    if reading and isinstance(node, ast.Call) and node.args:
        first = node.args[0]
    elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "os.environ":
        first = node.slice if isinstance(node.ctx, ast.Load) else ast.Constant(None)
    else:
        return None
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None


def assigned(text: str, name: str) -> tuple[str, int] | None:
    """Return a string that the module assigns to a name or a dictionary key, with its line.

    For ``"NAME": lambda: os.getenv("NAME", "").lower() or "13.0"`` that is the last alternative;
    for ``os.getenv("NAME", "13.0")`` the default.

    Raises:
        SyntaxError: It is no Python.
    """
    for node in ast.walk(ast.parse(text)):
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
