"""What the environment chooses, and how it is refused."""

from __future__ import annotations

import os

EXIT_FAILED, EXIT_USAGE, EXIT_NOT_FOUND = 1, 2, 127


class Refusal(Exception):  # noqa: N818 - it is no error of this program
    """Why nothing is served; the status says how this process ends."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def choice(name: str, known: tuple[str, ...], default: str) -> str:
    """Return what a variable of the environment chooses.

    Raises:
        Refusal: It chooses what does not exist.
    """
    value = os.environ.get(name) or default
    if value not in known:
        raise Refusal(EXIT_USAGE, f"{name}={value}: one of {', '.join(known)}")
    return value


def seconds(name: str, default: float) -> float:
    """Return a limit in seconds from the environment.

    Raises:
        Refusal: It is no positive number.
    """
    text = os.environ.get(name) or str(default)
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 86400:
        raise Refusal(EXIT_USAGE, f"{name}={text}: seconds, more than 0 and less than a day")
    return value
