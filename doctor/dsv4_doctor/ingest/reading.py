"""Bytes that somebody pasted, as lines of text, in bounded time and memory."""

from __future__ import annotations

import json
import re
from typing import Any

from dsv4_doctor.errors import InputError

# A long log with a paste somewhere in it has some ten thousand lines.
MAX_LINES = 300_000
# Longer lines hold no fact that is looked for; regular expressions need not see them.
MAX_LINE = 64 << 10

_MARKS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))
_ESCAPE_CODE = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_QUOTE = re.compile(r"^(?:>[ ]?)+")


def decode(raw: bytes) -> str:
    """Return the text; bytes that are none in its encoding become replacement characters.

    PowerShell writes UTF-16, with a mark or, through a pipe, without one.
    """
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            return raw.decode(encoding, "replace")
    head = raw[: 4 << 10]
    if len(head) >= 8 and head[1::2].count(0) > len(head) // 3:
        return raw.decode("utf-16-le", "replace")
    if len(head) >= 8 and head[0::2].count(0) > len(head) // 3:
        return raw.decode("utf-16-be", "replace")
    return raw.decode("utf-8", "replace")


def lines_of(text: str, name: str) -> list[str]:
    """Return the lines, without escape codes of terminals, NUL and carriage returns.

    Texts inside JSON strings are taken out of them.

    Args:
        text: What was pasted.
        name: Where it is from, for error messages.

    Raises:
        InputError: There are more lines than anybody pastes.
    """
    text = _without_json(text)
    if text.count("\n") + text.count("\r") > MAX_LINES:
        msg = f"{name}: more than {MAX_LINES} lines"
        raise InputError(msg, hint="give the part that holds the collect_env or nvidia-smi text")
    return [_clean(line) for line in re.split(r"\r\n|\n|\r", text)]


def _clean(line: str) -> str:
    if len(line) > MAX_LINE:
        return ""
    line = line.replace("\0", "").replace("\xa0", " ")
    line = _ESCAPE_CODE.sub("", line) if "\x1b" in line else line
    return _QUOTE.sub("", line) if line.startswith(">") else line


def _without_json(text: str) -> str:
    """Return the texts in the strings of a JSON document, or the text itself."""
    start = text.lstrip()[:1]
    if start and start in '{["':
        try:
            return "\n\n".join(_strings(json.loads(text)))
        except (ValueError, RecursionError):
            pass  # A fragment, or no JSON at all.
    if text.count("\\n") > text.count("\n"):
        # A string cut out of a JSON document, or a line of JSON Lines.
        for written, meant in (("\\r", ""), ("\\n", "\n"), ("\\t", "\t"), ('\\"', '"')):
            text = text.replace(written, meant)
    return text


def _strings(document: Any) -> list[str]:
    """Return the strings of several lines in a JSON document, in their order."""
    found, waiting = [], [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str) and "\n" in value:
            found.append(value)
        elif isinstance(value, dict):
            waiting.extend(reversed(list(value.values())))
        elif isinstance(value, list):
            waiting.extend(reversed(value))
    return found
