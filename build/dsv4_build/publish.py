"""Putting the result where the user wants it, once it is proved."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dsv4_build.wheel import atomically
from dsv4_doctor.errors import BuildError

if TYPE_CHECKING:
    from pathlib import Path

REPORT = "build-report.json"


@dataclass(frozen=True)
class Artifact:
    """A file that a build gives.

    Attributes:
        path: Where it is.
        name: Relative to the output directory.
        size: In bytes.
    """

    path: str
    name: str
    size: int
    sha256: str


def publish(result: Path, out: Path) -> tuple[Artifact, ...]:
    """Copy every file of a result, each complete as soon as it has its name.

    Raises:
        BuildError: The output directory cannot be written.
    """
    try:
        files = sorted(file for file in result.rglob("*") if file.is_file())
        return tuple(_copy(file, result, out) for file in files)
    except OSError as error:
        msg = f"{out}: cannot be written: {error}"
        raise BuildError(msg, hint=f"the result is in {result}") from error


def report(content: dict[str, Any], out: Path) -> None:
    """Write what a build made and how beside its objects.

    Raises:
        BuildError: The output directory cannot be written.
    """
    text = (json.dumps(content, indent=2) + "\n").encode()
    try:
        atomically(out / REPORT, lambda file: file.write(text))
    except OSError as error:
        msg = f"{out / REPORT}: cannot be written: {error}"
        raise BuildError(msg) from error


def _copy(file: Path, result: Path, out: Path) -> Artifact:
    name = file.relative_to(result)
    target = out / name
    with file.open("rb") as source:
        atomically(target, lambda new: shutil.copyfileobj(source, new))
    return Artifact(str(target), str(name), target.stat().st_size, sha256(target))


def sha256(file: Path) -> str:
    """Return the digest of a file."""
    total = hashlib.sha256()
    with file.open("rb") as content:
        while block := content.read(1 << 20):
            total.update(block)
    return total.hexdigest()
