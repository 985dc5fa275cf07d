"""The requirements of what a command line names as vLLM: a release, an sdist or a checkout."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.errors import InputError
from dsv4_doctor.knowledge import load, parse

if TYPE_CHECKING:
    from dsv4_doctor.knowledge.model import Release


def named(text: str) -> tuple[Release, tuple[str, ...]]:
    """Return the requirements of a known release, or those that a source tree says itself.

    A name that is a known release is that release, whatever lies in the current directory.

    Args:
        text: Such as ``0.24.0``, ``vllm-0.34.0.tar.gz`` or ``./vllm``.

    Returns:
        The requirements, and notes for a reader on where they come from.

    Raises:
        UsageError: It is neither; the message names the nearest known releases.
        InputError: The source tree cannot be read.
    """
    if text.removeprefix("v") in load.release_names():
        return load.release(text), ()
    path = Path(text).expanduser()
    if path.exists():
        return from_tree(path)
    if os.sep in text or text.endswith(".gz"):
        msg = f"{text}: no such file or directory"
        raise InputError(msg, hint=load.known_releases())
    return load.release(text), ()


def from_tree(path: Path) -> tuple[Release, tuple[str, ...]]:
    """Return what a source tree says that it needs, and notes for a reader.

    Raises:
        InputError: It is no readable vLLM tree.
    """
    # Only who names a tree pays for what reads it.
    from dsv4_doctor.knowledge.extract.release import extract  # noqa: PLC0415

    found = extract(path)
    release = parse.release(found.data)
    gaps = tuple(f"not established in this tree: {each}" for each in found.not_established)
    return release, (f"what vLLM {release.name} needs was read from {path}", *gaps)
