"""What pyproject.toml, setup.py and the requirements files pin."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from dsv4_doctor.knowledge.extract.facts import Gaps, Json, cited
from dsv4_doctor.knowledge.extract.python_source import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.knowledge.extract.histories import Said
    from dsv4_doctor.knowledge.extract.tree import SourceTree

# Later trees keep them in a directory.
CUDA_FILES = ("requirements/cuda.txt", "requirements-cuda.txt")
COMMON_FILES = ("requirements/common.txt", "requirements-common.txt")

_STRING = re.compile(r"""^\s*["']([^"']+)["']""")
_TABLE = re.compile(r"^\s*\[([^\]]+)\]\s*(?:#.*)?$")
_KEY = re.compile(r"^\s*([\w-]+)\s*=\s*(.*)$")


def lines(text: str) -> Iterator[tuple[Requirement, int]]:
    """Give the requirements of a requirements file with their lines; options are passed over."""
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.split(" #")[0].strip()
        if not stripped or stripped[0] in "#-":
            continue
        try:
            yield Requirement(stripped), number
        except InvalidRequirement:
            continue


def build_requires(text: str) -> Iterator[tuple[Requirement, int]]:
    """Give ``build-system.requires`` of a pyproject.toml, one requirement a line, with its line."""
    table, inside = "", False
    for number, line in enumerate(text.splitlines(), start=1):
        header = _TABLE.match(line)
        if header is not None and not inside:
            table = header[1]
        key = _KEY.match(line) if not inside else None
        if table == "build-system" and key is not None and key[1] == "requires":
            inside = "]" not in key[2]
        elif inside:
            value = _STRING.match(line)
            if value is not None:
                try:
                    yield Requirement(value[1]), number
                except InvalidRequirement:
                    continue
            inside = not line.strip().startswith("]")


def requires_python(tree: SourceTree, gaps: Gaps) -> Json | None:
    """Read it from pyproject.toml, or from setup.py in older trees."""
    table = ""
    for number, line in enumerate((tree.text("pyproject.toml") or "").splitlines(), start=1):
        header, key = _TABLE.match(line), _KEY.match(line)
        table = header[1] if header is not None else table
        if table == "project" and key is not None and key[1] == "requires-python":
            value = _STRING.match(key[2])
            if value is not None:
                return cited(value[1], "pyproject.toml", number)
    for node in ast.walk(parse(tree.text("setup.py") or "", "setup.py")):
        if isinstance(node, ast.keyword) and node.arg == "python_requires":
            given = node.value
            if isinstance(given, ast.Constant) and isinstance(given.value, str):
                return cited(given.value, "setup.py", given.lineno)
    gaps.add("requires_python: neither pyproject.toml nor setup.py says it")
    return None


def torch(tree: SourceTree, gaps: Gaps) -> Json | None:
    """Read the version of torch that the build pins exactly."""
    for requirement, line in build_requires(tree.text("pyproject.toml") or ""):
        if canonicalize_name(requirement.name) == "torch":
            exact = [each.version for each in requirement.specifier if each.operator == "=="]
            if len(exact) == 1:
                return cited(exact[0], "pyproject.toml", line)
    gaps.add("torch: the build requirements of pyproject.toml pin no version")
    return None


def every(tree: SourceTree) -> dict[str, Said]:
    """Return every package that a build or a server asks for, in the form of the tables.

    A name is ``build NAME`` or ``run NAME``; a package that is asked for several times, on
    different systems, has all that is asked.
    """
    found: dict[str, Said] = {}
    project = "pyproject.toml"
    asked = [("build", project, build_requires(tree.text(project) or ""))]
    asked += [("run", name, lines(tree.text(name) or "")) for name in (*CUDA_FILES, *COMMON_FILES)]
    for kind, file, requirements in asked:
        for requirement, line in requirements:
            name = f"{kind} {canonicalize_name(requirement.name)}"
            marker = f"; {requirement.marker}" if requirement.marker is not None else ""
            text = f"{requirement.specifier or 'any'}{marker}"
            said = found.setdefault(name, ({"asks": []}, file, line))
            said[0]["asks"].append(text)
    return dict(sorted(found.items()))


def cmake_floor(tree: SourceTree) -> tuple[str, int] | None:
    """Return the CMake that the build requirements ask for, with its line."""
    for requirement, line in build_requires(tree.text("pyproject.toml") or ""):
        if requirement.name == "cmake":
            for each in requirement.specifier:
                if each.operator == ">=":
                    return each.version, line
    return None
