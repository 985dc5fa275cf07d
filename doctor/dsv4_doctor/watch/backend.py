"""Which attention backend the server really uses.

No metric tells it: ``vllm:cache_config_info`` has the settings of the cache and nothing of
attention, and ``/server_info`` of development mode has what was asked for. The server says it in
its log when it loads the model, and only there; so that is what is read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from dsv4_doctor.errors import InputError
from dsv4_doctor.knowledge import metrics as knowledge

# The lines stand where the model is loaded, near the beginning.
_MAX_LOG = 64 << 20
HOW = (
    "no metric tells the attention backend; the server's log does when it loads the model:"
    " give it with --log"
)


@dataclass(frozen=True)
class Used:
    """What the log says.

    Attributes:
        backends: As the log names them, FlashAttention with its version as ``FA3``; in order.
        expected: What was asked for, empty for nothing.
        unexpected: ``None`` when nothing was expected or the log does not say.
        lines: What was read.
        note: Why it could not be told.
    """

    backends: tuple[str, ...] = ()
    expected: str = ""
    unexpected: bool | None = None
    lines: tuple[str, ...] = ()
    note: str = ""


def used(log: str | None, expected: str) -> Used:
    """Return what the log of a server says of its attention backend.

    Args:
        log: Its path; ``None`` when there is none.
        expected: Such as ``FA3`` or ``FLASHMLA_SPARSE_DSV4``; empty for nothing.

    Raises:
        InputError: The log cannot be read.
    """
    if log is None:
        return Used(expected=expected, note=HOW if expected else "")
    try:
        with Path(log).open("rb") as file:
            text = file.read(_MAX_LOG).decode("utf-8", "replace")
    except OSError as error:
        msg = f"{log}: {error.strerror or error}"
        raise InputError(msg) from error
    backends, lines = _told(text)
    if not backends:
        note = f"{log}: no line that names the attention backend; it stands where the model loads"
        return Used(expected=expected, note=note)
    wanted = expected.casefold()
    hit = any(each.casefold() == wanted for each in backends)
    return Used(backends, expected, (not hit) if expected else None, lines)


def _told(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    found: dict[str, str] = {}
    for known in knowledge.log_lines():
        for match in re.finditer(rf"[^\n]*{known.pattern}[^\n]*", text):
            found.setdefault(known.backend.format(match[1]), match[0].strip()[:300])
    return tuple(found), tuple(dict.fromkeys(found.values()))
