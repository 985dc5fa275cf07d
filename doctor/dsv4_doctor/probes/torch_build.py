"""What ``torch/version.py`` says, read as text."""

from __future__ import annotations

import ast

from dsv4_doctor.facts.python import TorchBuild


def parse(text: str, path: str) -> TorchBuild | None:
    """Read ``torch/version.py``, ``None`` when it names no version.

    torch 2.0 wrote plain assignments, later ones annotate (``cuda: Optional[str] = '13.0'``); a
    CPU-only build has ``cuda`` set to ``None``. The file is parsed and never run.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    values: dict[str, str] = {}
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        if not isinstance(value, ast.Constant) or not isinstance(value.value, str):
            continue
        values.update((each.id, value.value) for each in targets if isinstance(each, ast.Name))
    version = values.get("__version__")
    if not version:
        return None
    return TorchBuild(version, values.get("cuda"), values.get("hip"), path)
