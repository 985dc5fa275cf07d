"""Text that a machine said of itself, made harmless for whoever reads or parses a report."""

from __future__ import annotations


def printable(text: str) -> str:
    """Return text in which control characters are written out instead of sent to a terminal.

    What a machine or a stored file says of itself is not trusted to drive the reader's terminal.
    Lone surrogates and what XML does not allow are among the characters written out.
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character == "\n" else _escape(character)
        for character in text
    )


def one_line(text: str) -> str:
    """Return printable text on one line, line feeds written out, too."""
    return printable(text).replace("\n", "\\n")


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
