"""Under which paths the programs of a build see its directories: the same ones on every machine.

nvcc 13.0 puts a hash of a source's path into symbols, and macros put paths of headers into
strings. Neither is moved by ``-frandom-seed`` or ``-ffile-prefix-map``, so that the same bytes need
the same paths. A mount namespace gives directories other names for one process and its children;
where none is allowed, the work directory itself is at the fixed path, and links lead to the rest.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from dsv4_build import enter
from dsv4_doctor.errors import BuildError
from dsv4_doctor.process import ProcessError, run

if TYPE_CHECKING:
    from collections.abc import Sequence

Wish: TypeAlias = Literal["auto", "namespace", "fixed", "own"]
Kind: TypeAlias = Literal["namespace", "fixed", "own"]

# There on every Linux, writable for everybody, and not removed at every boot as /tmp is.
ROOT = Path("/var/tmp/dsv4-doctor")  # noqa: S108 - what is there is checked

_SYSTEM = frozenset({"/", "/usr", "/usr/local"})

# Seconds for an interpreter to start and end on a busy machine.
_LIMIT = 30.0


@dataclass(frozen=True)
class View:
    """What the programs of a build see.

    Attributes:
        names: A real directory and its name for the programs, for each that has two.
        because: Why it is this kind.
        root: Directory that the names are in.
    """

    kind: Kind
    names: tuple[tuple[str, str], ...] = ()
    because: str = ""
    root: str = str(ROOT)

    def seen(self, path: str) -> str:
        """Return the name that a program of the build knows a path by."""
        return enter.seen_as(path, list(self.names))

    def real(self, path: str) -> str:
        """Return the path that a program of the build means."""
        return enter.seen_as(path, [(seen, real) for real, seen in self.names])

    def enter(self, argv: Sequence[str]) -> list[str]:
        """Return the command that runs a program with this view."""
        if self.kind != "namespace":
            return list(argv)
        specification = json.dumps({"root": self.root, "mounts": self.names})
        return [sys.executable, "-I", "-S", enter.__file__, specification, *argv]

    @property
    def parked(self) -> Path | None:
        """Where the work of other inputs waits; ``None`` where each has a place of its own."""
        return Path(self.root) / "parked" if self.kind == "fixed" else None

    def link(self) -> None:
        """Make the names that no namespace makes.

        Raises:
            BuildError: They cannot be made.
        """
        if self.kind != "fixed":
            return
        try:
            for real, seen in self.names:
                Path(seen).unlink(missing_ok=True)
                Path(seen).symlink_to(real)
        except OSError as error:
            msg = f"{self.root}: cannot be built under: {error}"
            raise BuildError(msg, hint="--paths own uses the paths that there are") from error


# Everything by the name that it has.
OWN = View("own")


@dataclass(frozen=True)
class Places:
    """The directories of a build whose paths would be part of the bytes.

    Attributes:
        python: The interpreter that is built for.
        toolkit: A CUDA toolkit that is kept in a user's cache; ``None`` for one of the machine,
            which has the same path for every user.
    """

    python: str
    toolkit: str | None = None


def decide(wish: Wish, root: Path = ROOT) -> tuple[Kind, str]:
    """Return how a build will get its paths, and why.

    Raises:
        BuildError: What was wished for is not allowed here.
    """
    if wish == "own":
        return "own", "--paths own"
    refusal = _unusable(root)
    if refusal is None and wish != "fixed":
        no_namespace = try_namespace(root)
        if no_namespace is None:
            return "namespace", f"a mount namespace shows the directories below {root}"
        refusal = no_namespace if wish == "namespace" else None
        why = f"there is no mount namespace: {no_namespace}"
    else:
        why = "--paths fixed"
    # Whoever owns it could exchange what is in it; only a namespace hides that.
    if refusal is None and root.stat().st_uid != os.geteuid():
        refusal = f"{root} belongs to somebody else"
    if refusal is None:
        return "fixed", why
    if wish != "auto":
        msg = f"--paths {wish}: {refusal}"
        raise BuildError(msg, hint="--paths own uses the paths that there are")
    return "own", refusal


def arrange(kind: Kind, because: str, work: str, places: Places, root: Path = ROOT) -> View:
    """Return the view of a build.

    Args:
        work: The work directory.
    """
    if kind == "own":
        return View("own", because=because)
    names = [] if kind == "fixed" else [(work, str(root / "work"))]
    if places.toolkit is not None:
        names.append((places.toolkit, str(root / "cuda")))
    prefix = prefix_of(places.python)
    if prefix is not None:
        names.append((prefix, str(root / "python")))
    return View(kind, tuple(names), because, str(root))


def prefix_of(python: str) -> str | None:
    """Return the directory of an interpreter's environment; ``None`` for the system's own."""
    prefix = Path(python).parent.parent
    own = (prefix / "pyvenv.cfg").is_file() or any(prefix.glob("lib/python3*"))
    return str(prefix) if own and str(prefix) not in _SYSTEM else None


def try_namespace(root: Path = ROOT) -> str | None:
    """Return why no mount namespace is to be had, ``None`` when one is."""
    view = View("namespace", ((str(Path(__file__).parent), str(root / "work")),), "", str(root))
    try:
        done = run(view.enter(["true"]), limit=_LIMIT, cwd="/")
    except ProcessError as error:
        return str(error)
    return None if done.ok else done.stderr.strip().rpartition("namespace: ")[2]


def _unusable(root: Path) -> str | None:
    """Return why a directory cannot give its name, ``None`` when it can; make it if need be."""
    try:
        root.mkdir(mode=0o755, parents=True, exist_ok=True)
        if root.resolve(strict=True) != root:
            return f"{root} is reached through a link"
        with suppress(PermissionError):
            os.utime(root)  # Else what tidies up old files may remove it under a build.
    except OSError as error:
        return f"{root}: {error.strerror or error}"
    return None
