"""Putting a finished image where it goes, in one piece or not at all."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_build.image import archive
from dsv4_doctor.errors import BuildError, UsageError
from dsv4_doctor.files import write_atomically
from dsv4_doctor.images.layout import LAYOUT_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_build.image.request import ImageRequest, Output


def require_place(output: Output) -> None:
    """Make sure that an image can be put there, before it is built.

    Raises:
        UsageError: Something else is there, or it cannot be written.
    """
    path = output.path
    if output.kind == "reference":
        return
    if output.kind == "oci" and path.exists():
        if not path.is_dir() or (any(path.iterdir()) and not (path / LAYOUT_FILE).is_file()):
            msg = f"--output oci:{path}: something else is there"
            raise UsageError(msg, hint="name a directory that is empty or not there yet")
    elif output.kind == "docker-archive" and path.is_dir():
        msg = f"--output docker-archive:{path}: a directory"
        raise UsageError(msg)
    if not path.absolute().parent.is_dir():
        msg = f"--output {output.kind}:{path}: {path.absolute().parent} is not there"
        raise UsageError(msg)


@contextmanager
def staging(output: Output) -> Iterator[Path]:
    """Yield a directory to build in: on the disk that the image goes to, so that it only moves.

    Raises:
        BuildError: It cannot be made.
    """
    parent = None if output.kind == "reference" else output.path.absolute().parent
    try:
        folder = tempfile.mkdtemp(prefix=".dsv4-image-", dir=parent)
    except OSError as error:
        msg = f"{parent or tempfile.gettempdir()}: cannot be written: {error.strerror}"
        raise BuildError(msg) from error
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def deliver(layout: Path, output: Output) -> None:
    """Move a layout to its place, or write its archive.

    Raises:
        OSError: It cannot be written; what was there before is still there.
    """
    path = output.path.absolute()
    if output.kind == "docker-archive":
        archive.write(layout, path)
        return
    before = layout.parent / "before"
    if path.exists():
        path.rename(before)
    try:
        layout.rename(path)
    except OSError:
        if before.exists():
            before.rename(path)
        raise


def write_sbom(text: str, request: ImageRequest) -> str:
    """Write the bill of materials and return its path, empty when there is no place for it.

    Raises:
        InputError: It cannot be written.
    """
    path = request.sbom
    if path is None:
        if request.output.kind == "reference":
            return ""
        path = request.output.path.with_name(f"{request.output.path.name}.cdx.json")
    write_atomically(path, text.encode())
    return str(path)
