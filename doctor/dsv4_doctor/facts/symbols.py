"""Symbols that installed extension modules need and nothing here defines."""

from __future__ import annotations

from dsv4_doctor.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Unresolved:
    """What one extension module needs that the installed torch and its own libraries lack.

    Attributes:
        path: The module.
        owner: Distribution that it belongs to.
        kind: ``torch-abi``: torch has them with other parameters, or not at all; ``not-compiled``:
            they are the module's own, and their source was left out of the build.
        reason: In words.
        symbols: Mangled names, the first ones.
        count: How many there are.
    """

    path: str
    owner: str
    kind: str
    reason: str
    symbols: tuple[str, ...]
    count: int


@dataclass(frozen=True)
class LibraryNeeds:
    """The newest versions of the C and C++ library that the objects of one package ask for.

    Attributes:
        package: Its directory or file among the installed packages.
        path: The object that asks for the newest.
    """

    package: str
    path: str
    glibc: str | None = None
    glibcxx: str | None = None
    cxxabi: str | None = None


@dataclass(frozen=True)
class Symbols:
    """What resolving the symbols of the installed extension modules found.

    Attributes:
        torch: Directory of the libraries of torch that were looked into.
        modules: The modules that were looked into.
        unresolved: What is missing.
        unknown: What could not be told, and why.
        needs: What the objects of all installed packages ask of the C and C++ library, of those
            that ask for any version.
        unread: Packages that were not read for it, for want of time.
    """

    torch: str | None
    modules: tuple[str, ...]
    unresolved: tuple[Unresolved, ...]
    unknown: tuple[str, ...] = ()
    needs: tuple[LibraryNeeds, ...] = ()
    unread: tuple[str, ...] = ()
