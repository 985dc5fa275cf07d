"""The child: loads extension modules and runs cases, one JSON object a line for each.

A line says that something begins before it begins, so that the parent knows what a child that
dies was doing.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import json
import os
import sys
import time
from typing import Any

# What tells these lines from whatever a library prints.
MARK = "dsv4-trial "


def tell(**event: Any) -> None:
    """Print one event."""
    sys.stdout.write(f"{MARK}{json.dumps(event)}\n")
    sys.stdout.flush()


def main(spec: dict[str, Any]) -> None:
    """Load the modules of a specification, then run its cases.

    Args:
        spec: ``modules`` with ``name``, ``path`` and ``key``, ``cases`` with ``name``, ``function``
            and ``module``, ``torch`` whether the modules need it, ``lazy`` whether functions that a
            module lacks matter only when they are called.
    """
    if spec["torch"]:
        importlib.import_module("torch")
    if spec["lazy"]:
        sys.setdlopenflags(os.RTLD_LAZY)
    loaded: dict[str, Any] = {}
    for module in spec["modules"]:
        name = module["key"]
        tell(begin=name)
        try:
            loaded[name] = load(module["name"], module["path"])
        except Exception as error:  # noqa: BLE001 - whatever a foreign module raises is its answer
            tell(end=name, problem=f"{type(error).__name__}: {error}")
        else:
            tell(end=name, problem="")
    for case in spec["cases"]:
        if case["module"] in loaded:
            _run(case, loaded[case["module"]])


def load(name: str, path: str) -> Any:
    """Return an extension module, loaded from a file."""
    loader = importlib.machinery.ExtensionFileLoader(name, path)
    found = importlib.util.spec_from_file_location(name, path, loader=loader)
    if found is None:
        msg = f"{path} is no extension module"
        raise ImportError(msg)
    module = importlib.util.module_from_spec(found)
    loader.exec_module(module)
    return module


def _run(case: dict[str, Any], module: Any) -> None:
    name = case["name"]
    tell(begin=name)
    started = time.monotonic()
    file, _, function = case["function"].partition(":")
    try:
        cases = importlib.import_module(f".{file}", __package__)
        error, tolerance = getattr(cases, function)(module)
    except Exception as problem:  # noqa: BLE001 - likewise
        tell(end=name, problem=f"{type(problem).__name__}: {problem}")
        return
    seconds = time.monotonic() - started
    tell(end=name, problem="", error=error, tolerance=tolerance, seconds=seconds)
