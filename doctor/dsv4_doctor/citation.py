"""Where a requirement stands."""

from __future__ import annotations

from dsv4_doctor.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Source:
    """What a requirement rests on.

    Attributes:
        requirement: The requirement in words.
        project: Such as ``vllm``, ``cuda-toolkit``, ``dsv4-doctor``.
        release: Release of that project, empty when it has none.
        file: File inside it, or a command, or a page.
        line: Line in that file.
    """

    requirement: str
    project: str
    release: str = ""
    file: str = ""
    line: int | None = None

    @property
    def citation(self) -> str:
        """``vllm 0.24.0 CMakeLists.txt:24``."""
        place = f"{self.file}:{self.line}" if self.line else self.file
        return " ".join(part for part in (self.project, self.release, place) if part)
