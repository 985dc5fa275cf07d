"""Options in an unread command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def values(arguments: Sequence[str], option: str) -> list[str]:
    """Return the values of an option, written ``--option VALUE`` or ``--option=VALUE``."""
    found: list[str] = []
    for index, argument in enumerate(arguments):
        if argument == option:
            found.extend(arguments[index + 1 : index + 2])
        elif argument.startswith(f"{option}="):
            found.append(argument[len(option) + 1 :])
    return found


def last(arguments: Sequence[str], option: str) -> str | None:
    """Return the value that counts, ``None`` without the option."""
    found = values(arguments, option)
    return found[-1] if found else None
