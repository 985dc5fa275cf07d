"""Why sccache's server does not start, in words of which none can be a secret.

What it prints is not repeated: there are addresses with a password in it, and whole answers of
servers. Forms as sccache 0.16.0 prints them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_WORDS = (
    (re.compile(r'\bS3Error \{ code: "([A-Za-z]{1,60})"'), r"S3 answers {}"),
    (re.compile(r"\bregion is missing\b"), "no region is named, neither by region= nor AWS_REGION"),
    (re.compile(r"\bloading credential\b|\bno valid credential\b"), "no credentials are found"),
    (re.compile(r"\bdns error\b"), "no such host is known"),
    (re.compile(r"\bConnection refused\b"), "nothing listens there"),
)


def of_sccache(lines: Iterable[str]) -> str:
    """Return the reason, empty for one that is not known.

    Args:
        lines: What ``sccache --start-server`` printed.
    """
    text = "\n".join(lines)
    for pattern, words in _WORDS:
        found = pattern.search(text)
        if found:
            return words.format(*found.groups())
    return ""
