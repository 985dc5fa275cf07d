"""The steps: the look at the machine, the server, and what its log says when it failed."""

from __future__ import annotations

import os
import shlex
import signal
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_entrypoint.log import Log, say
from dsv4_entrypoint.options import (
    EXIT_FAILED,
    EXIT_NOT_FOUND,
    EXIT_USAGE,
    Refusal,
    choice,
    seconds,
)
from dsv4_entrypoint.supervisor import FORWARDED, SERVER, Supervisor

if TYPE_CHECKING:
    from typing import NoReturn

MODES = ("off", "warn", "enforce")
# Of `check`: nothing failed; and nothing failed, but not everything could be told.
GOOD, UNKNOWN = 0, 3
# Seconds.
PREFLIGHT_LIMIT, DIAGNOSIS_LIMIT = 60.0, 60.0


def main(arguments: list[str]) -> int:
    """Look, serve, and return the server's own exit status."""
    supervisor = Supervisor()
    started = time.monotonic()
    try:
        mode = choice("DSV4_PREFLIGHT", MODES, "warn")
        diagnosing = choice("DSV4_DIAGNOSE", ("on", "off"), "on")
        supervisor.listen()
        if mode != "off":
            preflight(supervisor, mode)
            say(f"preflight done in {time.monotonic() - started:.1f} s")
        if diagnosing == "off":
            replace_process(arguments)
        return serve(supervisor, arguments)
    except Refusal as refusal:
        say(str(refusal))
        return refusal.status


def preflight(supervisor: Supervisor, mode: str) -> None:
    """Look at the machine as a server will see it.

    Raises:
        Refusal: The mode forbids to serve here, or somebody asked this process to end.
    """
    limit = seconds("DSV4_PREFLIGHT_LIMIT", PREFLIGHT_LIMIT)
    try:
        more = shlex.split(os.environ.get("DSV4_CHECK", ""))
    except ValueError as error:
        raise Refusal(EXIT_USAGE, f"DSV4_CHECK: {error}") from error
    try:
        status = supervisor.look("check", "--for", "serve", *more, limit=limit)
        reason = {
            GOOD: "",
            EXIT_FAILED: "the preflight found what is wrong (see above)",
            UNKNOWN: "nothing failed that the preflight could tell (see above)",
        }.get(status, f"the preflight itself ended with status {status}")
    except TimeoutError:
        status, reason = -1, f"the preflight took more than {limit:g} s (DSV4_PREFLIGHT_LIMIT)"
    except OSError as error:
        status, reason = -1, f"the preflight cannot be started: {error}"
    if supervisor.asked:
        raise Refusal(128 + supervisor.asked, "asked to end during the preflight")
    if reason:
        say(reason)
    if mode == "enforce" and status not in {GOOD, UNKNOWN}:
        exit_status = status if status > 0 else EXIT_FAILED
        raise Refusal(exit_status, "not serving: DSV4_PREFLIGHT=enforce; warn or off would")


def serve(supervisor: Supervisor, arguments: list[str]) -> int:
    """Serve until the server ends, and say why it failed if it did.

    Raises:
        Refusal: There is no server to start.
    """
    with tempfile.TemporaryDirectory(prefix="dsv4-") as directory:
        log = Log(Path(directory, "server.log"))
        try:
            status = supervisor.serve(arguments, log)
        except OSError as error:
            raise Refusal(EXIT_NOT_FOUND, f"{SERVER[0]}: {error.strerror}") from error
        finally:
            log.close()
        if status and not supervisor.asked:
            say(f"the server ended with status {status}; what its log says:")
            try:
                supervisor.look("diagnose", "--live", str(log.path), limit=DIAGNOSIS_LIMIT)
            except TimeoutError:
                say(f"its log could not be read within {DIAGNOSIS_LIMIT:g} s")
            except OSError as error:
                say(f"its log could not be read: {error}")
    return status


def replace_process(arguments: list[str]) -> NoReturn:
    """Let the server take this process's place.

    Raises:
        Refusal: It cannot be started.
    """
    for each in FORWARDED:
        signal.signal(each, signal.SIG_DFL)
    try:
        os.execvp(SERVER[0], (*SERVER, *arguments))  # noqa: S606 - no shell is wanted
    except OSError as error:
        raise Refusal(EXIT_NOT_FOUND, f"{SERVER[0]}: {error.strerror}") from error
