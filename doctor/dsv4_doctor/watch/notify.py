"""Telling somebody: a webhook or a command on an event, each with a limit and no shell."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict
from typing import TYPE_CHECKING

from dsv4_doctor import process
from dsv4_doctor.errors import UsageError
from dsv4_doctor.watch.scrape import ScrapeError, address, post

if TYPE_CHECKING:
    from collections.abc import Callable

    from dsv4_doctor.watch.judging import Event

    # Tells of an event and returns what went wrong, empty for nothing.
    Teller = Callable[[Event], str]

LIMIT = 10.0


def webhook(url: str, server: str, limit: float = LIMIT) -> Teller:
    """Return what sends an event as JSON.

    Args:
        url: Where to.
        server: Which one is watched.
        limit: Seconds for one event.

    Raises:
        UsageError: It is no address.
    """
    parts = address(url, "/")
    # What follows the host is often a secret.
    place = f"{parts.scheme}://{parts.netloc}"

    def tell(event: Event) -> str:
        body = json.dumps({"server": server, **asdict(event)}).encode()
        try:
            answer = post(parts, body, limit)
        except ScrapeError as error:
            return f"{place}: {error}"
        return "" if 200 <= answer.status < 300 else f"{place}: HTTP status {answer.status}"

    return tell


def command(text: str, server: str, limit: float = LIMIT) -> Teller:
    """Return what runs a command, with the event in variables ``DSV4_EVENT_*``.

    Raises:
        UsageError: It cannot be split into words.
    """
    try:
        argv = shlex.split(text)
    except ValueError as error:
        msg = f"{text!r} cannot be split into words: {error}"
        raise UsageError(msg) from error
    if not argv:
        msg = "the command for events is empty"
        raise UsageError(msg)

    def tell(event: Event) -> str:
        values = {key: "" if each is None else str(each) for key, each in asdict(event).items()}
        env = {f"DSV4_EVENT_{key.upper()}": each for key, each in values.items()}
        env["DSV4_EVENT_SERVER"] = server
        try:
            done = process.run(argv, limit=limit, env=env)
        except process.ProcessError as error:
            return str(error)
        return "" if done.ok else f"{argv[0]}: exit status {done.returncode}"

    return tell
