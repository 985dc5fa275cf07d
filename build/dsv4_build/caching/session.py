"""A compiler cache while a build runs: its variables, its server where it has one, its figures."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_build.caching import reasons, statistics
from dsv4_build.caching.fingerprint import fingerprint
from dsv4_build.process import ChildFailedError, Job, run_logged
from dsv4_build.view import OWN
from dsv4_doctor.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dsv4_build.caching.choice import Cache
    from dsv4_build.caching.statistics import Statistics
    from dsv4_build.view import View
    from dsv4_build.work import Workspace

STATSLOG = "ccache-stats.log"

# Seconds for sccache's server to start, to tell its figures and to end.
_LIMIT = 60.0
# The longest unit known takes 14 minutes; the server must not end meanwhile.
_IDLE = 3600

_ASKED = {
    "redis": "is it running, and are address and password right?",
    "s3": "is it running, is the bucket there, and are the address and AWS_* variables right?",
}


@dataclass
class Session:
    """A cache in use.

    Attributes:
        environ: The whole environment for what compiles.
        statistics: What it did, once the session is over; ``None`` without a cache, or when the
            cache does not tell.
    """

    cache: Cache
    environ: dict[str, str] = field(repr=False)
    statistics: Statistics | None = None


@contextmanager
def session(
    cache: Cache, environ: Mapping[str, str], work: Workspace, place: Path, view: View = OWN
) -> Iterator[Session]:
    """Put a cache into the environment of a build and read its figures at the end.

    Args:
        environ: The whole environment of the build.
        place: Where caches are kept unless the caller's own variables say otherwise.
        view: How the programs of the build see directories, of which sccache's server is one.

    Raises:
        BuildError: The programs that compile cannot be read, or sccache's server does not start.
    """
    if cache.kind == "off":
        yield Session(cache, dict(environ))
    elif cache.kind == "ccache":
        with _ccache(cache, environ, work, place, view) as used:
            yield used
    else:
        with _sccache(cache, environ, work, place, view) as used:
            yield used


@contextmanager
def _ccache(
    cache: Cache, environ: Mapping[str, str], work: Workspace, place: Path, view: View
) -> Iterator[Session]:
    log = work.root / STATSLOG
    log.unlink(missing_ok=True)
    used = {
        **environ,
        "CCACHE_DIR": environ.get("CCACHE_DIR") or str(place / "ccache"),
        # A file of the user or the system could make other objects hits.
        "CCACHE_CONFIGPATH": os.devnull,
        "CCACHE_NAMESPACE": fingerprint(environ, view),
        "CCACHE_COMPILERCHECK": "none",
        "CCACHE_STATSLOG": str(log),
        **(cache.remote.for_ccache() if cache.remote is not None else {}),
    }
    current = Session(cache, used)
    try:
        yield current
    finally:
        with suppress(OSError):
            current.statistics = statistics.of_ccache(log.read_text("utf-8", "replace"))


@contextmanager
def _sccache(
    cache: Cache, environ: Mapping[str, str], work: Workspace, place: Path, view: View
) -> Iterator[Session]:
    # A socket's path may have 107 characters, and is reached from where there is no network, too.
    short = tempfile.mkdtemp(prefix="dsv4-")
    used = {
        **environ,
        "SCCACHE_DIR": environ.get("SCCACHE_DIR") or str(place / "sccache"),
        # Another build may have a server, with another cache.
        "SCCACHE_SERVER_UDS": str(Path(short, "sccache")),
        "SCCACHE_IDLE_TIMEOUT": str(_IDLE),
        "SCCACHE_CONF": os.devnull,
        "SCCACHE_C_CUSTOM_CACHE_BUSTER": fingerprint(environ, view),
        **(cache.remote.for_sccache() if cache.remote is not None else {}),
    }
    current = Session(cache, used)
    try:
        try:
            _call(cache, "--start-server", used, work, view)
        except ChildFailedError as error:
            raise _no_server(cache, reasons.of_sccache(error.lines)) from error
        yield current
        with suppress(ChildFailedError):
            text = _call(cache, "--show-stats --stats-format json", used, work, view)
            current.statistics = statistics.of_sccache(text, shared=cache.remote is not None)
    finally:
        # One that did not get ready in time may be there all the same.
        with suppress(ChildFailedError):
            _call(cache, "--stop-server", used, work, view)
        shutil.rmtree(short, ignore_errors=True)


def _call(
    cache: Cache, arguments: str, environ: Mapping[str, str], work: Workspace, view: View
) -> str:
    lines: list[str] = []
    # Not into the build's log: sccache prints the address of its cache with the password in it.
    log = Path(os.devnull)
    job = Job([cache.program, *arguments.split()], environ, log, work.root, _LIMIT, view)
    run_logged(job, lines.append)
    return "\n".join(lines)


def _no_server(cache: Cache, reason: str) -> BuildError:
    msg = f"the server of {cache.program} does not start"
    hint = "--cache off does without a compiler cache"
    if cache.remote is not None:
        msg += f", or does not reach {cache.remote.shown}"
        hint = f"{_ASKED[cache.remote.kind]} {hint}"
    return BuildError(f"{msg}: {reason}" if reason else msg, hint=hint)
