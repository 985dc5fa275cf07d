"""What the sources of a build are: sdists by digest, and commits of repositories."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Pin:
    """One commit that a build reads.

    Attributes:
        project: The external project that it belongs to, as CMake calls it.
        path: Where it lies below the project; empty for the project itself.
        module: Name of the submodule in its parent's ``.gitmodules``; empty for a project.
        url: As the release, or ``.gitmodules``, spells it.
        revision: The tag or commit that is named there.
        commit: Id of the commit.
        tree: Id of its tree: equal ids mean equal files.
    """

    project: str
    path: str
    module: str
    url: str
    revision: str
    commit: str
    tree: str

    @property
    def name(self) -> str:
        """The pin, for messages."""
        return f"{self.project}/{self.path}" if self.path else self.project


@dataclass(frozen=True)
class Missing:
    """A commit that the cache does not have.

    Attributes:
        reason: Why it could not be brought; empty when nobody tried.
    """

    project: str
    path: str
    url: str
    revision: str
    reason: str = ""

    @property
    def name(self) -> str:
        """The missing part, for messages."""
        return f"{self.project}/{self.path}" if self.path else self.project


@dataclass(frozen=True)
class LeftOut:
    """A submodule that somebody chose not to have.

    Attributes:
        module: Its name in ``.gitmodules``, by which git is told to skip it.
    """

    project: str
    path: str
    module: str
    url: str


@dataclass(frozen=True)
class Archive:
    """A source distribution.

    Attributes:
        url: Where it was brought from; empty when a file was given.
        size: In bytes.
    """

    name: str
    version: str
    file: str
    sha256: str
    size: int
    url: str = ""


@dataclass(frozen=True)
class Resolved:
    """The sources of one tree, as far as the cache has them.

    Attributes:
        missing: Commits that are not there; what they would ask for in turn is not known.
    """

    pins: tuple[Pin, ...]
    missing: tuple[Missing, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
