"""What lint says of a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dsv4_doctor.errors import EXIT_FAILED, EXIT_OK
from dsv4_doctor.lint.linting import Server  # noqa: TC001 - the schema is made of the annotations


@dataclass(frozen=True)
class LintReport:
    """All servers of one file.

    Attributes:
        file: Its path, ``-`` for standard input, empty for a command line.
        servers: In the order of the file.
        notes: How the release and the GPU were chosen, and what could not be read.
    """

    file: str
    servers: tuple[Server, ...]
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> Literal["pass", "wrong"]:
        """``wrong`` when any server has something that fails or is worth a change."""
        return "wrong" if any(each.wrong for each in self.servers) else "pass"

    @property
    def exit_code(self) -> int:
        """0 when nothing is wrong, 1 when something is."""
        return EXIT_FAILED if self.verdict == "wrong" else EXIT_OK
