"""Resolving the symbols of the installed extension modules against the installed torch.

What a dynamic linker would find missing at import, found without an import. It takes longer than a
check may, so it runs only when somebody asks to look deep.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.binary.dynamic import defined_of
from dsv4_doctor.binary.link_problems import summarise, wanted_of
from dsv4_doctor.binary.linkage import read_linkage
from dsv4_doctor.binary.package import Package
from dsv4_doctor.binary.source import DiskFile
from dsv4_doctor.binary.symbols import owner_of, stem_of
from dsv4_doctor.binary.torch_libraries import read_torch
from dsv4_doctor.errors import InputError
from dsv4_doctor.facts.symbols import Symbols, Unresolved
from dsv4_doctor.probes import extension_modules, files, interpreter, library_needs, site_packages

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dsv4_doctor.binary.linkage import Linked
    from dsv4_doctor.probes.registry import Request

# Of one kind in one module: the first ones tell the cause, the rest is weight.
_MOST = 20
_KINDS = ("torch-abi", "not-compiled")


def probe(request: Request) -> Symbols:
    """Resolve the symbols of the modules in the chosen environment."""
    choice = interpreter.choose(request.python, os.environ)
    described = interpreter.describe(choice)
    roots = site_packages.scan(described.sites).roots
    found = survey(roots, described.version)
    needs, unread = library_needs.survey(roots)
    return replace(found, needs=needs, unread=unread)


def survey(roots: Iterable[Path], python: str) -> Symbols:
    """Resolve the symbols of every module below the roots.

    Args:
        roots: Directories that packages are imported from.
        python: Version of the interpreter.
    """
    roots = tuple(roots)
    found = list(extension_modules.find(roots, python))
    owners = {str(path): owner for owner, path in found}
    linked, unknown = _linked(path for _, path in found)
    libraries = next((root / "torch/lib" for root in roots if _has_torch(root)), None)
    if not linked or libraries is None:
        reason = () if not linked else ("no torch is installed to resolve symbols against",)
        return Symbols(None, tuple(owners), (), (*unknown, *reason))
    wanted = wanted_of(linked.values())
    own = frozenset(_defined(linked, wanted))
    left = wanted - own
    stems = frozenset(stem_of(each) for each in left if owner_of(each) == "torch") - {""}
    try:
        torch = read_torch(libraries, left, stems)
    except InputError as error:
        return Symbols(str(libraries), tuple(owners), (), (*unknown, str(error)))
    summary = summarise(Package(), linked, own, torch)
    unresolved = tuple(
        Unresolved(
            path=problem.object,
            owner=owners[problem.object],
            kind=problem.kind,
            reason=problem.reason,
            symbols=problem.symbols[:_MOST],
            count=len(problem.symbols),
        )
        for problem in summary.problems
        if problem.kind in _KINDS
    )
    return Symbols(str(libraries), tuple(owners), unresolved, unknown)


def _has_torch(root: Path) -> bool:
    return files.is_file(root / "torch/lib/libc10.so")


def _linked(paths: Iterable[Path]) -> tuple[dict[str, Linked], tuple[str, ...]]:
    """Read how modules are linked; those that cannot be read are named with the reason."""
    linked: dict[str, Linked] = {}
    unknown = []
    for path in paths:
        try:
            with DiskFile(path) as source:
                read = read_linkage(source, path.name)
        except InputError as error:
            unknown.append(str(error))
            continue
        if read is not None:
            linked[str(path)] = read
    return linked, tuple(unknown)


def _defined(linked: Mapping[str, Linked], wanted: frozenset[str]) -> set[str]:
    defined: set[str] = set()
    for name in linked:
        with DiskFile(Path(name)) as source:
            defined |= defined_of(source, wanted)
    return defined
