"""What is wrong with how the objects of one package are linked, together."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from dsv4_doctor.binary.linkage import stem_of_library, version_key
from dsv4_doctor.binary.package import Package
from dsv4_doctor.binary.symbols import owner_of, stem_of
from dsv4_doctor.knowledge.linkage import interfaces_in_c, policy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from dsv4_doctor.binary.linkage import Linkage, Linked
    from dsv4_doctor.binary.torch_libraries import Torch

ProblemKind: TypeAlias = Literal[
    "manylinux", "tags", "cuda-majors", "stable-abi", "torch-abi", "not-compiled"
]

_PYTHON_TAG = re.compile(r"cp3(\d+)-abi3-")


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong.

    Attributes:
        kind: Of what kind it is.
        object: The object, empty for the package as a whole.
        reason: In words.
        symbols: Mangled names that it is about.
    """

    kind: ProblemKind
    object: str
    reason: str
    symbols: tuple[str, ...] = ()


@dataclass(frozen=True)
class LinkageSummary:
    """How the objects of one package are linked, together.

    Attributes:
        package: What it says of itself.
        glibc: Newest version of glibc that an object asks for, ``None`` for none.
        glibcxx: Newest ``GLIBCXX`` version.
        cxxabi: Newest ``CXXABI`` version.
        cuda: Major versions of CUDA whose libraries are needed.
        torch: Where the libraries of torch lie that symbols were looked for in; empty for none.
        problems: What is wrong.
        unknown: What was not established, and why.
    """

    package: Package = field(default_factory=Package)
    glibc: str | None = None
    glibcxx: str | None = None
    cxxabi: str | None = None
    cuda: tuple[int, ...] = ()
    torch: str = ""
    problems: tuple[Problem, ...] = ()
    unknown: tuple[str, ...] = ()


def summarise(
    package: Package, objects: Mapping[str, Linked], own: frozenset[str], torch: Torch | None
) -> LinkageSummary:
    """Judge how the objects of a package are linked.

    Args:
        package: What it says of itself.
        objects: Its objects by name.
        own: Symbols, of those that some object leaves undefined, that another one defines.
        torch: A torch that was looked into, if one was.
    """
    linkages = {name: each.linkage for name, each in objects.items()}
    needed = {major for each in linkages.values() for major in each.cuda}
    problems = [
        *_tags(package),
        *_manylinux(package, linkages),
        *_cuda(linkages, torch),
        *_stable_abi(package, linkages),
    ]
    for name, each in objects.items():
        problems += _undefined(name, each, own, torch)
    return LinkageSummary(
        package=package,
        glibc=_newest(each.glibc for each in linkages.values()),
        glibcxx=_newest(each.glibcxx for each in linkages.values()),
        cxxabi=_newest(each.cxxabi for each in linkages.values()),
        cuda=tuple(sorted(needed)),
        torch=torch.path if torch else "",
        problems=tuple(problems),
        unknown=tuple(_unknown(package, objects, own, torch)),
    )


def wanted_of(objects: Iterable[Linked]) -> frozenset[str]:
    """Return the symbols that only a look into other libraries can resolve."""
    return frozenset(
        name
        for each in objects
        for name in each.undefined
        if owner_of(name) in {"torch", "c++", "standard"}
    )


def _newest(versions: Iterable[str | None]) -> str | None:
    return max((each for each in versions if each), key=version_key, default=None)


def _tags(package: Package) -> Iterator[Problem]:
    if (
        package.file_tags
        and package.wheel_tags
        and set(package.file_tags) != set(package.wheel_tags)
    ):
        named, inside = ", ".join(package.file_tags), ", ".join(package.wheel_tags)
        yield Problem("tags", "", f"the file name says {named}, the file WHEEL in it {inside}")


def _manylinux(package: Package, objects: Mapping[str, Linkage]) -> Iterator[Problem]:
    for platform in package.platforms:
        promise = policy(platform)
        if promise is None:
            continue
        for name, each in objects.items():
            asked = {"GLIBC": each.glibc, "GLIBCXX": each.glibcxx, "CXXABI": each.cxxabi}
            for family, version in asked.items():
                limit = promise.limits.get(family)
                if version and limit and version_key(version) > version_key(limit):
                    reason = f"asks for {family}_{version}; {platform} promises {limit} at most"
                    yield Problem("manylinux", name, reason)


def _cuda(objects: Mapping[str, Linkage], torch: Torch | None) -> Iterator[Problem]:
    users: dict[int, list[str]] = {}
    for name, each in objects.items():
        for major in each.cuda:
            users.setdefault(major, []).append(name)
    for major in torch.cuda if torch else ():
        users.setdefault(major, []).append(f"torch in {torch.path if torch else ''}")
    if len(users) > 1:
        parts = [f"CUDA {major}: {_few(names)}" for major, names in sorted(users.items())]
        yield Problem("cuda-majors", "", f"two CUDA runtimes in one process: {'; '.join(parts)}")


def _stable_abi(package: Package, objects: Mapping[str, Linkage]) -> Iterator[Problem]:
    found = [_PYTHON_TAG.match(each) for each in package.tags]
    minors = [int(match[1]) for match in found if match]
    for name, each in objects.items():
        if not each.stable_abi:
            continue
        if each.outside:
            reason = f"claims Python's stable ABI and uses {_few(each.outside)}, outside of it"
            yield Problem("stable-abi", name, reason, each.outside)
        if minors and each.python and version_key(each.python) > (3, min(minors)):
            reason = (
                f"uses {_few(each.newest)}, in the stable ABI since Python {each.python}; the tag "
                f"promises 3.{min(minors)}"
            )
            yield Problem("stable-abi", name, reason, each.newest)


def _undefined(
    name: str, each: Linked, own: frozenset[str], torch: Torch | None
) -> Iterator[Problem]:
    left = [symbol for symbol in each.undefined if symbol not in own]
    if torch is not None:
        left = [symbol for symbol in left if symbol not in torch.defined]
        asked = [symbol for symbol in left if owner_of(symbol) == "torch"]
        other = tuple(symbol for symbol in asked if stem_of(symbol) in torch.stems)
        absent = tuple(symbol for symbol in asked if symbol not in other)
        if other:
            reason = (
                f"{len(other)} symbols of torch exist there with other parameters only: built "
                f"against another torch, or with another C++ ABI"
            )
            yield Problem("torch-abi", name, reason, other)
        if absent:
            reason = (
                f"{len(absent)} symbols of torch do not exist there: built against another torch"
            )
            yield Problem("torch-abi", name, reason, absent)
    elif any(_is_torch(library) for library in each.linkage.needed):
        # Torch's own libraries also define symbols of other namespaces.
        return
    missing = tuple(symbol for symbol in left if owner_of(symbol) == "c++")
    if missing and not _elsewhere(each, torch):
        reason = (
            f"{len(missing)} C++ symbols that none of its libraries can define: their source was "
            f"not compiled or not linked in"
        )
        yield Problem("not-compiled", name, reason, missing)


def _elsewhere(each: Linked, torch: Torch | None) -> list[str]:
    """Return libraries that were not looked into and may define C++ symbols."""
    seen = torch.libraries if torch else ()
    return [
        library
        for library in each.linkage.needed
        if library not in seen
        and library not in each.versioned
        and stem_of_library(library) not in interfaces_in_c()
    ]


def _is_torch(library: str) -> bool:
    return library.startswith(("libtorch", "libc10", "libcaffe2"))


def _unknown(
    package: Package, objects: Mapping[str, Linked], own: frozenset[str], torch: Torch | None
) -> Iterator[str]:
    if not any(policy(each) for each in package.platforms):
        yield "which glibc is promised: there is no manylinux tag to hold the objects to"
    left = wanted_of(objects.values()) - own
    if torch is None:
        asked = [each for each in left if owner_of(each) == "torch"]
        if asked:
            yield f"whether a torch defines the {len(asked)} symbols asked of it: give --torch"
        return
    for name, each in objects.items():
        libraries = _elsewhere(each, torch)
        symbols = [
            symbol
            for symbol in each.undefined
            if symbol in left - torch.defined and owner_of(symbol) == "c++"
        ]
        if symbols and libraries:
            yield (
                f"whether {_few(libraries)} define {len(symbols)} C++ symbols of {name}: these "
                f"libraries were not looked into"
            )
    standard = {
        symbol
        for each in objects.values()
        for symbol in each.linkage.unversioned
        if symbol in left - torch.defined
    }
    if standard:
        yield (
            f"which libstdc++ has {_few(sorted(standard))}: they are asked for without a version, "
            f"and this torch does not define them"
        )


def _few(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - 3} more" if len(listed) > 3 else ""
    return f"{', '.join(listed[:3])}{more}"
