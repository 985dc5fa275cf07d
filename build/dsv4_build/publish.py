"""Putting the result where the user wants it, once it is proved."""

from __future__ import annotations

import glob
import hashlib
import json
import shutil
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dsv4_build.handover import sums
from dsv4_doctor.errors import BuildError, UsageError
from dsv4_doctor.files import atomically

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


def require_place(out: Path) -> None:
    """Make sure that the result can be put there, before hours are spent on it.

    Nothing is left behind: the directory itself is made only when there is a result.

    Raises:
        UsageError: The output directory is none, or cannot be made or written.
    """
    existing = next(each for each in (out, *out.parents) if each.exists())
    try:
        with tempfile.TemporaryDirectory(dir=existing):
            pass
    except OSError as error:
        msg = f"--out {out}: cannot be written: {error.strerror or error}"
        raise UsageError(msg) from error


def publish(result: Path, out: Path) -> tuple[Artifact, ...]:
    """Copy every file of a result, each complete as soon as it has its name, and their digests.

    Raises:
        BuildError: The output directory cannot be written.
    """
    try:
        files = sorted(file for file in result.rglob("*") if file.is_file())
        # The list of an earlier place is none for this one, and no list has itself.
        files = [file for file in files if file != result / sums.NAME]
        artifacts = tuple(_copy(file, result, out) for file in files)
        sums.add({each.name: each.sha256 for each in artifacts}, out)
    except OSError as error:
        msg = f"{out}: cannot be written: {error}"
        raise BuildError(msg, hint=f"the result is in {result}") from error
    return artifacts


def report(content: dict[str, Any], out: Path) -> None:
    """Write what a build made and how beside its objects.

    Raises:
        BuildError: The output directory cannot be written.
    """
    text = (json.dumps(content, indent=2) + "\n").encode()
    try:
        out.mkdir(parents=True, exist_ok=True)
        atomically(out / REPORT, lambda file: file.write(text))
    except OSError as error:
        msg = f"{out / REPORT}: cannot be written: {error}"
        raise BuildError(msg) from error


def _copy(file: Path, result: Path, out: Path) -> Artifact:
    name = file.relative_to(result)
    target = out / name
    target.parent.mkdir(parents=True, exist_ok=True)
    # What is there already is handed over again, by its bytes and not by its name.
    digest = sha256(target) if target.is_file() else ""
    if digest != sha256(file):
        with file.open("rb") as source:
            atomically(target, lambda new: shutil.copyfileobj(source, new), durable=True)
        digest = sha256(target)
    for half in target.parent.glob(f".{glob.escape(target.name)}.????????"):
        half.unlink(missing_ok=True)  # Of a build that was killed while it copied.
    return Artifact(str(target), str(name), target.stat().st_size, digest)


def sha256(file: Path) -> str:
    """Return the digest of a file."""
    total = hashlib.sha256()
    with file.open("rb") as content:
        while block := content.read(1 << 20):
            total.update(block)
    return total.hexdigest()
