"""One request: whatever a server does, it ends, and what it did is said."""

from __future__ import annotations

import socket
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.watch.raw_server import serving

from dsv4_doctor.errors import UsageError
from dsv4_doctor.watch import scrape
from dsv4_doctor.watch.scrape import Answer, ScrapeError, address, get

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"


def ask(place: str, limit: float = 30.0) -> Answer:
    return get(address(place, "/metrics"), limit)


def sends(content: bytes, *, close: bool = True):  # type: ignore[no-untyped-def]
    def behave(connection: socket.socket, done: threading.Event) -> None:
        connection.sendall(content)
        if not close:
            done.wait()

    return behave


@pytest.mark.parametrize(
    ("content", "close"),
    [
        (HEAD + b"\r\nbody", True),
        (HEAD + b"Content-Length: 4\r\n\r\nbody", True),
        (HEAD + b"content-length:4\r\n\r\nbody", False),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n", True),
        (b"HTTP/1.0 200 OK\r\n\r\nbody", True),
    ],
)
def test_answers(content: bytes, close: bool) -> None:
    with serving(sends(content, close=close)) as place:
        assert ask(place).body == b"body"


def test_an_error_of_the_server_is_an_answer() -> None:
    with serving(sends(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")) as place:
        assert ask(place).status == 503


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "closed without an answer"),
        (b"garbage\r\n\r\n", "no HTTP answer"),
        (HEAD + b"Content-Length: 9\r\n\r\nbody", "no HTTP answer, or not a whole one"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", "no HTTP answer, or not a whole one"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n", "no HTTP answer"),
    ],
)
def test_what_is_no_answer(content: bytes, said: str) -> None:
    with serving(sends(content)) as place, pytest.raises(ScrapeError, match=said):
        ask(place)


def stalls(_connection: socket.socket, done: threading.Event) -> None:
    done.wait()


def drips(connection: socket.socket, done: threading.Event) -> None:
    for sign in HEAD * 100:
        if done.wait(0.02):
            return
        connection.sendall(bytes([sign]))


def never_ends(connection: socket.socket, done: threading.Event) -> None:
    connection.sendall(HEAD + b"\r\n")
    while not done.is_set():
        connection.sendall(b"a 1\n" * 10_000)


@pytest.mark.parametrize("behave", [stalls, drips])
def test_a_server_that_stalls_or_drips_is_left(behave) -> None:  # type: ignore[no-untyped-def]
    with serving(behave) as place, pytest.raises(ScrapeError, match=r"within 0\.2 s"):
        ask(place, 0.2)


def test_an_endless_page_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrape, "MAX_BYTES", 1 << 20)
    with serving(never_ends) as place, pytest.raises(ScrapeError, match="more than 1 MiB"):
        ask(place)


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(ScrapeError, match="refused"):
        ask(f"127.0.0.1:{port}")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("localhost:8000", "http://localhost:8000/metrics"),
        ("http://a/", "http://a/metrics"),
        ("https://a:1/other?x=1", "https://a:1/other?x=1"),
        ("http://[::1]:8000", "http://[::1]:8000/metrics"),
    ],
)
def test_addresses(url: str, expected: str) -> None:
    assert address(url, "/metrics").geturl() == expected


@pytest.mark.parametrize(
    "url", ["", "ftp://a", "http://", "http://a:x", "http://a:99999", "a b", "http://a\n:1", "a:0"]
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(UsageError, match="is no address"):
        address(url)


def test_a_password_in_an_address_is_refused() -> None:
    with pytest.raises(UsageError, match="a user or a password") as caught:
        address("http://me:secret@host/")
    assert "secret" not in str(caught.value)


@given(st.binary(max_size=300))
def test_any_bytes_are_an_answer_or_refused(raw: bytes) -> None:
    try:
        found = scrape._parsed(HEAD + raw, "GET", 0.0)
    except ScrapeError:
        return
    assert isinstance(found.body, bytes)
