"""One HTTP request with an end: a limit on its time as a whole and on the bytes of its answer."""

from __future__ import annotations

import http.client
import io
import re
import socket
import ssl
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from dsv4_doctor import __version__
from dsv4_doctor.errors import UsageError

if TYPE_CHECKING:
    from urllib.parse import SplitResult

DEFAULT_LIMIT = 5.0
# vLLM's own page is about 100 kB for each engine.
MAX_BYTES = 16 << 20
_CHUNK = 64 << 10
_LENGTH = re.compile(rb"(?i)\r\ncontent-length:[ \t]*(\d{1,12})[ \t]*(?=\r\n|$)")


class ScrapeError(Exception):
    """No answer that can be used; the message says what the server did."""


@dataclass(frozen=True)
class Answer:
    """What came back.

    Attributes:
        status: Of HTTP.
        kind: Its content type.
        seconds: From the connection to the last byte.
    """

    status: int
    kind: str
    body: bytes
    seconds: float


def address(url: str, path: str = "") -> SplitResult:
    """Return an address that can be asked.

    Args:
        url: With or without a scheme; ``http`` is meant without.
        path: What is meant where it names none.

    Raises:
        UsageError: It names no host, another scheme than http and https, or a password.
    """
    parts = urlsplit(url if "://" in url else f"http://{url}")
    try:
        known = parts.scheme in {"http", "https"} and bool(parts.hostname)
        port = parts.port
    except ValueError:
        known, port = False, None
    if known and parts.username is not None:
        msg = "an address with a user or a password in it would be shown in every report"
        raise UsageError(msg, hint="the key of a server is taken from VLLM_API_KEY")
    if not known or any(sign.isspace() or ord(sign) < 32 for sign in url) or port == 0:
        msg = f"{url!r} is no address of a server"
        raise UsageError(msg, hint="such as http://localhost:8000")
    return parts._replace(path=path) if parts.path in {"", "/"} else parts


def get(parts: SplitResult, limit: float = DEFAULT_LIMIT) -> Answer:
    """Ask for a page.

    Raises:
        ScrapeError: Nothing came, or something that is no answer, or it did not end.
    """
    return _ask(parts, "GET", b"", {}, limit)


def post(parts: SplitResult, body: bytes, limit: float, key: str = "") -> Answer:
    """Send a JSON document.

    Args:
        parts: Where to.
        body: The document.
        limit: Seconds for the whole answer.
        key: Of the server, empty for none.

    Raises:
        ScrapeError: As for :func:`get`, or a key that no header can have.
    """
    headers = {"Content-Type": "application/json"}
    if key:
        if not (key.isascii() and key.isprintable()):
            msg = "the key of the server has signs in it that no header can have"
            raise ScrapeError(msg)
        headers["Authorization"] = f"Bearer {key}"
    return _ask(parts, "POST", body, headers, limit)


def _ask(
    parts: SplitResult, method: str, body: bytes, headers: dict[str, str], limit: float
) -> Answer:
    started = time.monotonic()
    deadline = started + limit
    try:
        with _connected(parts, deadline) as connection:
            connection.sendall(_request(parts, method, body, headers))
            raw = _until_the_end(connection, deadline)
    except TimeoutError as error:
        msg = f"no whole answer within {limit:g} s"
        raise ScrapeError(msg) from error
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ScrapeError(reason or type(error).__name__) from error
    return _parsed(raw, method, time.monotonic() - started)


def _connected(parts: SplitResult, deadline: float) -> socket.socket:
    secure = parts.scheme == "https"
    place = (parts.hostname or "", parts.port or (443 if secure else 80))
    connection = socket.create_connection(place, timeout=_left(deadline))
    if not secure:
        return connection
    try:
        return ssl.create_default_context().wrap_socket(connection, server_hostname=place[0])
    except BaseException:
        connection.close()
        raise


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _request(parts: SplitResult, method: str, body: bytes, headers: dict[str, str]) -> bytes:
    query = f"?{parts.query}" if parts.query else ""
    lines = {
        "Host": parts.netloc,
        "User-Agent": f"dsv4-doctor/{__version__}",
        "Accept": "*/*",
        "Connection": "close",
        **headers,
        **({"Content-Length": str(len(body))} if method == "POST" else {}),
    }
    head = f"{method} {parts.path or '/'}{query} HTTP/1.1\r\n"
    text = head + "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return text.encode("latin-1") + b"\r\n" + body


def _until_the_end(connection: socket.socket, deadline: float) -> bytes:
    """Read until the server closes, however slowly the bytes drip.

    Raises:
        TimeoutError: The deadline came first.
        ScrapeError: More than the limit came.
    """
    found = bytearray()
    while True:
        connection.settimeout(_left(deadline))
        piece = connection.recv(_CHUNK)
        if not piece:
            return bytes(found)
        found += piece
        if _complete(found):
            # A server may keep the connection open although it was asked to close it.
            return bytes(found)
        if len(found) > MAX_BYTES:
            msg = f"an answer of more than {MAX_BYTES >> 20} MiB"
            raise ScrapeError(msg)


def _complete(found: bytearray) -> bool:
    """Whether as many bytes came as the head announced."""
    head, blank, _ = bytes(found[:_CHUNK]).partition(b"\r\n\r\n")
    match = _LENGTH.search(head) if blank else None
    return match is not None and len(found) - len(head) - len(blank) >= int(match[1])


class _Received:
    """What http.client takes for a socket: bytes that have all come."""

    def __init__(self, raw: bytes) -> None:
        self._file = io.BytesIO(raw)

    def makefile(self, *_arguments: object, **_named: object) -> io.BytesIO:
        return self._file


def _parsed(raw: bytes, method: str, seconds: float) -> Answer:
    if not raw:
        msg = "the connection was closed without an answer"
        raise ScrapeError(msg)
    answer = http.client.HTTPResponse(_Received(raw), method=method)  # type: ignore[arg-type]
    try:
        answer.begin()
        body = answer.read()
    except (http.client.HTTPException, ValueError) as error:
        reason = str(error) or type(error).__name__
        msg = f"no HTTP answer, or not a whole one: {reason[:200]}"
        raise ScrapeError(msg) from error
    return Answer(answer.status, answer.headers.get("Content-Type", ""), body, seconds)
