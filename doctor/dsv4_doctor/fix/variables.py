"""The file that holds the variables of applied steps, for the user's shell to source."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.report import Command

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_HEAD = (
    "# Variables that `dsv4-doctor fix --apply` chose; `dsv4-doctor fix --undo` takes them back.\n"
    "# Source this file in the shell that builds or serves.\n"
)
_NAME = re.compile(r"(?:export|unset) ([A-Za-z_]\w*)", re.ASCII)


def place(environ: Mapping[str, str] | None = None) -> Path:
    """Return the file's place below XDG_CONFIG_HOME."""
    environ = os.environ if environ is None else environ
    base = environ.get("XDG_CONFIG_HOME") or Path("~/.config").expanduser()
    return Path(base) / "dsv4-doctor" / "env.sh"


def merged(content: str | None, commands: Iterable[Command]) -> str:
    """Return the file's content with the variables of some commands in it.

    A line replaces an earlier one of the same variable, unless it builds on the variable's own
    value, as on PATH.

    Args:
        content: What the file holds now, ``None`` when there is none.
        commands: Each sets or unsets variables.
    """
    lines = (content or _HEAD).removesuffix("\n").split("\n")
    for command in commands:
        for line in _lines(command):
            name = _name(line)
            builds_on_itself = f"${name}" in line
            lines = [
                each for each in lines if each != line and (builds_on_itself or _name(each) != name)
            ]
            lines.append(line)
    return "\n".join(lines) + "\n"


def _lines(command: Command) -> list[str]:
    """Return one line a variable, in the words of the command's own shell line."""
    env = command.env or {}
    setting = [Command(env={name: value}).shell() for name, value in env.items()]
    return setting + [Command(unset=(name,)).shell() for name in command.unset]


def _name(line: str) -> str:
    match = _NAME.match(line)
    return match[1] if match else ""
