"""Every error that ends a command, each with its exit code and a text that a user can act on."""

from __future__ import annotations

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_UNKNOWN = 3
EXIT_BROKEN = 4
EXIT_INTERRUPTED = 130


class DoctorError(Exception):
    """An expected error: printed as one message without a traceback.

    Attributes:
        exit_code: What the process exits with.
        hint: The way out, or an empty string when the message already says it.
    """

    exit_code = EXIT_BROKEN

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(DoctorError):
    """The command line asks for something that does not exist or does not fit together."""

    exit_code = EXIT_USAGE


class InputError(DoctorError):
    """A file that the user named cannot be read as what it should be.

    The message starts with the path, so that the user sees which one of several it was.
    """

    exit_code = EXIT_USAGE


class BuildError(DoctorError):
    """A build step failed; the message names the step and where its log is."""

    exit_code = EXIT_FAILED
