"""How one object is linked: what it needs, from which versions, and what it leaves undefined."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dsv4_doctor.binary.dynamic import read_dynamic
from dsv4_doctor.binary.symbols import owner_of
from dsv4_doctor.knowledge.linkage import cuda_numbered, stable_abi
from dsv4_doctor.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsv4_doctor.binary.dynamic import Dynamic
    from dsv4_doctor.binary.source import Source

_SONAME = re.compile(r"(?P<stem>[\w+-]+)\.so(?:\.(?P<number>\d+))?[\d.]*")
_VERSION = re.compile(r"(?P<family>GLIBC|GLIBCXX|CXXABI)_(?P<number>\d+(?:\.\d+)+)")


@dataclass(frozen=True)
class Linkage:
    """How one object is linked.

    Attributes:
        soname: Its own name, empty for none.
        needed: Libraries that it needs, as ``DT_NEEDED`` lists them.
        rpath: Directories of ``DT_RPATH``, which come before ``LD_LIBRARY_PATH``.
        runpath: Directories of ``DT_RUNPATH``, which come after it.
        glibc: Newest version of glibc that a symbol asks for, such as ``2.28``; ``None`` for none.
        glibcxx: Newest ``GLIBCXX`` version, of libstdc++.
        cxxabi: Newest ``CXXABI`` version, of libstdc++.
        cuda: Major versions of CUDA in the names of the libraries that it needs.
        unversioned: Symbols of the C++ library that ask for no version, so that ``glibcxx`` does
            not speak for them.
        stable_abi: Whether its name claims Python's stable ABI (``.abi3.so``).
        outside: Symbols of Python outside the stable ABI.
        python: Python release whose stable ABI has all its symbols, such as ``3.8``; empty when
            it uses none.
        newest: Its symbols that this release added.
    """

    soname: str
    needed: tuple[str, ...]
    rpath: tuple[str, ...]
    runpath: tuple[str, ...]
    glibc: str | None
    glibcxx: str | None
    cxxabi: str | None
    cuda: tuple[int, ...]
    unversioned: tuple[str, ...]
    stable_abi: bool
    outside: tuple[str, ...]
    python: str
    newest: tuple[str, ...]


@dataclass(frozen=True)
class Linked:
    """An object's linkage, and the symbols that other libraries must define.

    Attributes:
        linkage: What is reported.
        undefined: Those without a version, by which alone their library is not known; weak
            symbols, without which it can be loaded, are left out.
        versioned: Libraries of which it asks for versions.
    """

    linkage: Linkage
    undefined: tuple[str, ...]
    versioned: tuple[str, ...]


def read_linkage(source: Source, name: str) -> Linked | None:
    """Read how an object is linked; ``None`` for what no dynamic linker loads.

    Args:
        source: Its bytes.
        name: Its file name.

    Raises:
        BinaryError: It is damaged.
    """
    dynamic = read_dynamic(source)
    if dynamic is None:
        return None
    undefined = tuple(each.name for each in dynamic.undefined if not each.weak and not each.version)
    newest = newest_versions(version for _, version in dynamic.versions)
    outside, python, added = _python(dynamic)
    linkage = Linkage(
        soname=dynamic.soname,
        needed=dynamic.needed,
        rpath=dynamic.rpath,
        runpath=dynamic.runpath,
        glibc=newest.get("GLIBC"),
        glibcxx=newest.get("GLIBCXX"),
        cxxabi=newest.get("CXXABI"),
        cuda=cuda_majors(dynamic.needed),
        unversioned=tuple(each for each in undefined if owner_of(each) == "standard"),
        stable_abi=".abi3." in name.rsplit("/", 1)[-1],
        outside=outside,
        python=python,
        newest=added,
    )
    return Linked(linkage, undefined, tuple(dict.fromkeys(lib for lib, _ in dynamic.versions)))


def newest_versions(versions: Iterable[str]) -> dict[str, str]:
    """Return the newest version of each family, such as ``{"GLIBC": "2.28"}``."""
    newest: dict[str, str] = {}
    for version in versions:
        match = _VERSION.fullmatch(version)
        if match:
            family, number = match["family"], match["number"]
            newest[family] = max(newest.get(family, number), number, key=version_key)
    return newest


def version_key(text: str) -> tuple[int, ...]:
    """Return what orders versions such as ``2.28`` and ``3.4.9``."""
    return tuple(int(part) for part in text.split("."))


def cuda_majors(needed: Iterable[str]) -> tuple[int, ...]:
    """Return the major versions of CUDA in the names of libraries."""
    found = set()
    for name in needed:
        match = _SONAME.fullmatch(name)
        if match and match["number"] and match["stem"] in cuda_numbered():
            found.add(int(match["number"]))
    return tuple(sorted(found))


def stem_of_library(name: str) -> str:
    """Return a library's name without version: ``libcudart`` for ``libcudart.so.13``."""
    match = _SONAME.fullmatch(name)
    return match["stem"] if match else name


def _python(dynamic: Dynamic) -> tuple[tuple[str, ...], str, tuple[str, ...]]:
    used = sorted(
        each.name for each in dynamic.undefined if not each.weak and owner_of(each.name) == "python"
    )
    known = stable_abi()
    outside = tuple(each for each in used if each not in known)
    inside = [each for each in used if each in known]
    if not inside:
        return outside, "", ()
    newest = max(known[each] for each in inside)
    added = tuple(each for each in inside if known[each] == newest)
    return outside, ".".join(map(str, newest)), added
