"""Resolving build requirements once, with the hash of every file that may be installed."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_build import installers
from dsv4_build.plan import key
from dsv4_build.process import ChildFailedError, Job, run_logged
from dsv4_doctor.errors import BuildError, InputError
from dsv4_doctor.files import atomically

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

# The index is asked for metadata only; ten minutes mean that it does not answer.
_LIMIT = 600.0

_PACKAGE = re.compile(r"(?P<name>[a-z0-9]+(?:-[a-z0-9]+)*)==(?P<version>[A-Za-z0-9.!+_-]+)(?=\s|$)")
_HASH = re.compile(r"--hash=sha256:(?P<digest>[0-9a-f]{64})")


@dataclass(frozen=True)
class Wanted:
    """What is resolved.

    Attributes:
        requirements: As the tree's ``pyproject.toml`` spells them.
        python: Interpreter that the environment is for.
        version: Its version.
        machine: As ``uname -m``.
        newest: Time, in ISO 8601, after which nothing that was uploaded counts; empty for no
            such limit.
    """

    requirements: tuple[str, ...]
    python: str
    version: str
    machine: str
    newest: str

    @property
    def key(self) -> str:
        """What the answer depends on, besides the index."""
        minor = ".".join(self.version.split(".")[:2])
        return key(sorted(self.requirements), minor, self.machine, self.newest)[:16]


@dataclass(frozen=True)
class Package:
    """One package of a resolution; ``sha256`` are the digests of its files."""

    name: str
    version: str
    sha256: tuple[str, ...]


def resolve(
    wanted: Wanted, directory: Path, environ: Mapping[str, str], say: Callable[[str], None]
) -> str:
    """Return a requirements file in which every package has a version and hashes.

    An answer is kept: the same question has the same answer from then on.

    Args:
        directory: Where answers are kept.

    Raises:
        BuildError: uv is not there, or the index cannot answer; the message says what it said.
    """
    kept = directory / f"{wanted.key}.txt"
    if kept.is_file():
        return kept.read_text(encoding="utf-8")
    say(f"resolving {len(wanted.requirements)} build requirements{_until(wanted)}")
    log = directory / f"{wanted.key}.log"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory) as name:
            made = _compile(wanted, Path(name), environ, log)
            made = render(packages(made, str(kept)))
        atomically(kept, lambda file: file.write(made.encode()))
    except OSError as error:
        msg = f"{directory}: cannot be written: {error.strerror or error}"
        raise BuildError(msg) from error
    return made


def known(wanted: Wanted, directory: Path) -> bool:
    """Whether a question was answered before."""
    return (directory / f"{wanted.key}.txt").is_file()


def _compile(wanted: Wanted, scratch: Path, environ: Mapping[str, str], log: Path) -> str:
    given, taken = scratch / "requirements.in", scratch / "requirements.txt"
    given.write_text("".join(f"{each}\n" for each in sorted(wanted.requirements)))
    argv = [*uv(), "pip", "compile", str(given), "--output-file", str(taken)]
    argv += ["--python", wanted.python, "--generate-hashes", "--no-header", "--no-annotate"]
    # Nothing of a package is run to find out what it needs.
    argv += ["--only-binary", ":all:"]
    if wanted.newest:
        argv += ["--exclude-newer", wanted.newest]
    try:
        run_logged(Job(argv, dict(environ), log, scratch, limit=_LIMIT))
    except ChildFailedError as error:
        msg = f"the build requirements could not be resolved:\n{last_words(error)}"
        hint = (
            "without a network: --lock FILE with a lock from a connected machine, or --python of "
            f"an environment that has them. The log is in {log}"
        )
        raise BuildError(msg, hint=hint) from error
    return taken.read_text(encoding="utf-8")


def _until(wanted: Wanted) -> str:
    return f", as of {wanted.newest}" if wanted.newest else ""


def last_words(error: ChildFailedError) -> str:
    """Return the last lines that uv printed, without empty ones."""
    said = [line for line in error.lines if line.strip()]
    return "\n".join(f"  {line}" for line in said[-8:])


def uv() -> list[str]:
    """Return the command that runs uv.

    Raises:
        BuildError: It is neither installed beside the doctor nor on PATH.
    """
    found = installers.uv()
    if found is None:
        msg = "an isolated build environment needs uv, which is not installed"
        hint = "install dsv4-doctor[build]; or --python names an environment that has everything"
        raise BuildError(msg, hint=hint)
    return found


def packages(text: str, path: str) -> tuple[Package, ...]:
    """Read a resolution: nothing else than packages with versions and hashes may be in it.

    Args:
        path: Where it came from, for messages.

    Raises:
        InputError: Something else is in it, or a package has no hash.
    """
    found: list[Package] = []
    for line in text.replace("\\\n", " ").splitlines():
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        match = _PACKAGE.match(stripped)
        rest = stripped[match.end() :].split() if match is not None else []
        digests = [_HASH.fullmatch(each) for each in rest]
        if match is None or not digests or not all(digests):
            msg = f"{path}: {stripped[:80]!r} is no package with a version and SHA-256 hashes"
            raise InputError(msg)
        sums = tuple(sorted(each["digest"] for each in digests if each is not None))
        found.append(Package(match["name"], match["version"], sums))
    return tuple(found)


def render(found: Iterable[Package]) -> str:
    """Return packages as a requirements file, always in the same form."""
    lines = [
        f"{each.name}=={each.version}" + "".join(f" --hash=sha256:{sha}" for sha in each.sha256)
        for each in found
    ]
    return "".join(f"{line}\n" for line in sorted(lines))


def digest(text: str) -> str:
    """Return what identifies a resolution."""
    return hashlib.sha256(text.encode()).hexdigest()


def variables() -> dict[str, str]:
    """Return the caller's variables without those that point uv at another environment."""
    foreign = {"VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "PYTHONHOME", "UV_PYTHON", "UV_TARGET"}
    return {name: value for name, value in os.environ.items() if name not in foreign}
