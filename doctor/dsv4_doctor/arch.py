"""GPU architectures as the CUDA compiler names them: ``sm_90``, ``sm_90a``, ``sm_100f``."""

from __future__ import annotations

import re
from typing import NamedTuple

_PATTERN = re.compile(
    r"(?:sm_?|compute_?)?"
    r"(?:(?P<dotted>[1-9]\d?\.\d)|(?P<plain>[1-9]\d{1,2}))(?P<suffix>[af]?)",
    re.IGNORECASE | re.ASCII,
)


class Arch(NamedTuple):
    """One architecture.

    Attributes:
        number: Major times ten plus minor, as in ``sm_<number>``.
        suffix: ``""``, ``"a"`` (code for exactly this architecture) or ``"f"`` (for its family).
    """

    number: int
    suffix: str = ""

    @classmethod
    def parse(cls, text: str) -> Arch:
        """Read ``sm_90a``, ``compute_90``, ``9.0a`` or ``90a``.

        Raises:
            ValueError: The text names no architecture.
        """
        match = _PATTERN.fullmatch(text.strip())
        if match is None:
            msg = f"not a GPU architecture: {text!r}"
            raise ValueError(msg)
        digits = (match["dotted"] or match["plain"]).replace(".", "")
        return cls(int(digits), match["suffix"].lower())

    @property
    def major(self) -> int:
        """Major compute capability."""
        return self.number // 10

    @property
    def minor(self) -> int:
        """Minor compute capability."""
        return self.number % 10

    @property
    def sm(self) -> str:
        """The name of its machine code, such as ``sm_90a``."""
        return f"sm_{self.number}{self.suffix}"

    @property
    def compute(self) -> str:
        """The name of its PTX, such as ``compute_90a``."""
        return f"compute_{self.number}{self.suffix}"

    @property
    def dotted(self) -> str:
        """The name that ``TORCH_CUDA_ARCH_LIST`` takes, such as ``9.0a``."""
        return f"{self.major}.{self.minor}{self.suffix}"

    @property
    def base(self) -> Arch:
        """The same architecture without its suffix: the GPU itself."""
        return Arch(self.number)

    def __str__(self) -> str:
        return self.sm
