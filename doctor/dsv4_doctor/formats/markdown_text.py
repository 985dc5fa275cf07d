"""Text of unknown origin inside Markdown."""

from __future__ import annotations

_ACTIVE = r"\`*_[]<>|#~!&"


def inert(text: str) -> str:
    """Return text that Markdown shows as it is and that stays within one line and one cell."""
    plain = "".join(each if each.isprintable() else " " for each in text)
    return "".join(f"\\{each}" if each in _ACTIVE else each for each in plain)


def code(text: str) -> str:
    """Return text as a code span that stays within one line and one cell."""
    plain = "".join(each if each.isprintable() else " " for each in text).replace("|", "\\|")
    longest = run = 0
    for each in plain:
        run = run + 1 if each == "`" else 0
        longest = max(longest, run)
    fence = "`" * (longest + 1)
    # A blank beside a backtick is taken off again when it is shown.
    pad = " " if plain.startswith("`") or plain.endswith("`") or not plain.strip() else ""
    return f"{fence}{pad}{plain}{pad}{fence}"
