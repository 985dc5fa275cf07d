"""Text of unknown origin inside Markdown."""

from __future__ import annotations

import re

from dsv4_doctor.formats.plain import one_line, printable

_SPECIAL = re.compile(r"[\\`*_\[\]<>|#~&!]")
_TICKS = re.compile(r"`+")


def escaped(text: str) -> str:
    """Return text that Markdown shows as it is, on one line, and that calls for nobody.

    A name after ``@`` would send mail to its owner, so an invisible character parts the two.
    """
    return _SPECIAL.sub(r"\\\g<0>", one_line(text)).replace("@", "@\u200b")


def code(text: str) -> str:
    """Return text as inline code, fenced with more backticks than it holds."""
    line = one_line(text)
    longest = max((len(each) for each in _TICKS.findall(line)), default=0)
    fence = "`" * (longest + 1)
    blank = " " if line.startswith("`") or line.endswith("`") or not line.strip() else ""
    return f"{fence}{blank}{line}{blank}{fence}"


def cell_code(text: str) -> str:
    """Return text as inline code for a cell of a table, in which a bar would begin the next one."""
    return code(text).replace("|", "\\|")


def fenced(text: str, language: str) -> str:
    """Return lines as a block of code, fenced with more backticks than any of them has."""
    longest = max((len(each) for each in _TICKS.findall(text)), default=0)
    fence = "`" * max(longest + 1, 3)
    return f"{fence}{language}\n{printable(text)}\n{fence}\n"
