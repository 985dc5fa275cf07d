"""Which cmake and ninja a build uses: the machine's own, or those installed with the doctor."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from dsv4_doctor.errors import BuildError
from dsv4_doctor.facts.build_tools import BuildTool
from dsv4_doctor.process import ProcessError, run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)?")

# A program that pip installed starts an interpreter first; on a busy machine that takes a while.
_LIMIT = 30.0


@dataclass(frozen=True)
class Wanted:
    """A program that a build calls.

    Attributes:
        minimum: Oldest version that does, empty for any.
    """

    name: str
    minimum: str = ""

    def fits(self, version: str | None) -> bool:
        """Whether a version does; one that cannot be read does not when there is a minimum."""
        if not self.minimum:
            return True
        try:
            return Version(version or "") >= Version(self.minimum)
        except InvalidVersion:
            return False


def find(wanted: Wanted, known: Sequence[BuildTool], directories: Sequence[Path]) -> BuildTool:
    """Return the first program that fits.

    Args:
        known: What the snapshot found on PATH and in the interpreter's directory.
        directories: Where to look besides.

    Raises:
        BuildError: None fits; the message says what was found.
    """
    seen: list[str] = []
    for tool in _candidates(wanted, known, directories):
        if wanted.fits(tool.version):
            return tool
        seen.append(f"{tool.path} is {tool.version or 'of unknown version'}")
    requirement = f"{wanted.name}>={wanted.minimum}" if wanted.minimum else wanted.name
    msg = f"no {requirement} found"
    if seen:
        msg += f": {'; '.join(seen)}"
    raise BuildError(msg, hint=f"pip install '{requirement}', or install dsv4-doctor[build]")


def _candidates(
    wanted: Wanted, known: Sequence[BuildTool], directories: Sequence[Path]
) -> list[BuildTool]:
    found = [tool for tool in known if tool.name == wanted.name and tool.path is not None]
    paths = [directory / wanted.name for directory in directories]
    found += [BuildTool(wanted.name, str(path), _ask(path)) for path in paths if path.is_file()]
    return found


def _ask(path: Path) -> str | None:
    try:
        done = run([str(path), "--version"], limit=_LIMIT)
    except ProcessError:
        return None
    match = _VERSION.search(done.stdout)
    return match[0] if match and done.ok else None
