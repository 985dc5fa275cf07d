"""A proof that is kept beside its result, so that handing that over again need not repeat it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dsv4_doctor.errors import BuildError
from dsv4_doctor.files import atomically

if TYPE_CHECKING:
    from pathlib import Path

    from dsv4_build.proof import Proof


@dataclass(frozen=True)
class Recorded:
    """What an earlier build proved of bytes that are still the same.

    Attributes:
        document: As plain data.
        lines: As text.
    """

    document: dict[str, Any]
    lines: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the proof as plain data."""
        return self.document


def write(proof: Proof, file: Path) -> None:
    """Keep a proof in a file.

    Raises:
        BuildError: It cannot be written.
    """
    from dsv4_build.result_text import proof_lines  # noqa: PLC0415 - which knows of both kinds

    content = {"document": proof.to_json(), "lines": list(proof_lines(proof))}
    try:
        atomically(file, lambda to: to.write(json.dumps(content).encode()))
    except OSError as error:
        msg = f"{file}: cannot be written: {error}"
        raise BuildError(msg) from error


def read(file: Path) -> Recorded:
    """Return a proof whose file has been held against its digest.

    Raises:
        BuildError: It cannot be read.
    """
    try:
        content = json.loads(file.read_bytes())
        return Recorded(content["document"], tuple(content["lines"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        msg = f"{file}: is no proof: {error}"
        raise BuildError(msg, hint="--clean begins anew") from error
