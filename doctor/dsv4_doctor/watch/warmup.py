"""Prefixes into the cache before the users come, with what that did.

A file has one prefix a line as JSON (``{"prompt": "…"}`` or a text), or plain texts apart by lines
of ``---``.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.errors import InputError
from dsv4_doctor.watch import exposition
from dsv4_doctor.watch.scrape import ScrapeError, get, post

if TYPE_CHECKING:
    from urllib.parse import SplitResult

_MAX_FILE = 64 << 20
_MAX_PREFIXES = 1000
_APART = re.compile(r"(?m)^---[ \t]*\n")


@dataclass(frozen=True)
class Sent:
    """One prefix, sent twice.

    Attributes:
        characters: Its length.
        first: Seconds of the first answer of one token; ``None`` when it failed.
        second: Of the second.
        problem: Why it failed.
    """

    characters: int
    first: float | None
    second: float | None
    problem: str = ""


@dataclass(frozen=True)
class Warmed:
    """What the warm-up did.

    Attributes:
        hit_rate_before: Of the prefix cache while the prefixes were sent for the first time.
        hit_rate_after: While they were sent for the second time.
        sent: Each prefix.
        note: Why a rate is not known.
    """

    hit_rate_before: float | None
    hit_rate_after: float | None
    sent: tuple[Sent, ...]
    note: str = ""

    @property
    def failed(self) -> int:
        """How many prefixes did not get both answers."""
        return sum(bool(each.problem) for each in self.sent)


def prefixes(path: str) -> tuple[str, ...]:
    """Return the prefixes of a file.

    Raises:
        InputError: It cannot be read, or has none, or too many.
    """
    try:
        with Path(path).open("rb") as file:
            content = file.read(_MAX_FILE + 1)
    except OSError as error:
        msg = f"{path}: {error.strerror or error}"
        raise InputError(msg) from error
    if len(content) > _MAX_FILE:
        msg = f"{path}: more than {_MAX_FILE >> 20} MiB of prefixes"
        raise InputError(msg)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        msg = f"{path}: no UTF-8 text"
        raise InputError(msg) from error
    found = _lines(text) or tuple(each.rstrip("\n") for each in _APART.split(text))
    found = tuple(each for each in found if each.strip())
    if not 0 < len(found) <= _MAX_PREFIXES:
        msg = f"{path}: {len(found)} prefixes; 1 to {_MAX_PREFIXES} can be sent"
        raise InputError(msg)
    return found


def _lines(text: str) -> tuple[str, ...]:
    """The prefixes of a file with JSON in every line; none when it is another one."""
    found = []
    for line in filter(str.strip, text.splitlines()):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            return ()
        value = value.get("prompt") if isinstance(value, dict) else value
        if not isinstance(value, str):
            return ()
        found.append(value)
    return tuple(found)


def warm(
    server: SplitResult, metrics: SplitResult, model: str, texts: tuple[str, ...], limit: float
) -> Warmed:
    """Send every prefix twice, one token each, and measure both times.

    Args:
        server: Address of the server's API, without a path.
        metrics: Of its metrics.
        model: As it is served.
        texts: The prefixes.
        limit: Seconds for one answer.
    """
    before = _counters(metrics, limit)
    first = [_send(server, model, each, limit) for each in texts]
    between = _counters(metrics, limit)
    second = [_send(server, model, each, limit) for each in texts]
    after = _counters(metrics, limit)
    sent = tuple(
        Sent(len(text), one[0], two[0], one[1] or two[1])
        for text, one, two in zip(texts, first, second, strict=True)
    )
    rates = _rate(before, between), _rate(between, after)
    unknown = "" if None not in rates else "the server's metrics do not tell the hit rate"
    return Warmed(*rates, sent, unknown)


def _send(server: SplitResult, model: str, text: str, limit: float) -> tuple[float | None, str]:
    body = json.dumps({"model": model, "prompt": text, "max_tokens": 1, "temperature": 0})
    try:
        key = os.environ.get("VLLM_API_KEY", "")
        answer = post(server._replace(path="/v1/completions"), body.encode(), limit, key)
    except ScrapeError as error:
        return None, str(error)
    if answer.status != 200:
        said = answer.body[:200].decode("utf-8", "replace")
        return None, f"HTTP status {answer.status}: {said}"
    return answer.seconds, ""


def _counters(metrics: SplitResult, limit: float) -> tuple[float, float] | None:
    try:
        values = exposition.read(get(metrics, limit).body).values
        return values["prefix_queries"], values["prefix_hits"]
    except (ScrapeError, KeyError):
        return None


def _rate(before: tuple[float, float] | None, after: tuple[float, float] | None) -> float | None:
    if before is None or after is None:
        return None
    asked, found = after[0] - before[0], after[1] - before[1]
    return found / asked if asked > 0 and 0 <= found <= asked else None
