"""The programs that install packages into an environment: pip beside the doctor, or uv."""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from dsv4_doctor.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Sequence

_QUIET = ("--disable-pip-version-check", "--no-input", "--no-compile")


def uv() -> list[str] | None:
    """Return the command that runs uv: the one beside the doctor, else that on PATH."""
    if find_spec("uv") is not None:
        return [sys.executable, "-m", "uv"]
    found = shutil.which("uv")
    return [found] if found is not None else None


def install(
    python: str, options: Sequence[str], *, otherwise: str, configured: bool = True
) -> list[str]:
    """Return the command that installs what ``options`` name.

    Args:
        python: Interpreter of the environment that it goes into.
        options: Understood by pip and by uv.
        otherwise: What cannot be done without an installer, for the message.
        configured: Whether pip's own settings, such as another index, hold.

    Raises:
        BuildError: Neither pip nor uv is there.
    """
    if find_spec("pip") is not None:
        other = () if python == sys.executable else ("--python", python)
        alone = () if configured else ("--isolated",)
        return [sys.executable, "-m", "pip", *other, "install", *alone, *_QUIET, *options]
    command = uv()
    if command is not None:
        return [*command, "pip", "install", "--python", python, *options]
    msg = f"{sys.executable} has no pip, and uv is not on PATH: {otherwise}"
    raise BuildError(msg, hint=f"{sys.executable} -m ensurepip, or install uv")
