"""Following a log that grows: a file that somebody writes, or a pipe."""

from __future__ import annotations

import os
import selectors
import sys
import time
from typing import TYPE_CHECKING, BinaryIO

from dsv4_doctor.errors import InputError
from dsv4_doctor.logs.opening import compressed
from dsv4_doctor.logs.session import Session
from dsv4_doctor.logs.text import TextReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from dsv4_doctor.logs.conclusion import Machine
    from dsv4_doctor.logs.diagnosis import Cause, Diagnosis

# Seconds without a new line after which what was held back is looked at.
IDLE = 0.5

_CHUNK = 1 << 16


def follow(
    pieces: Iterator[bytes],
    source: str,
    tell: Callable[[Cause], object],
    machine: Machine | None = None,
) -> Diagnosis:
    """Read a log as it grows, and tell each cause when it appears.

    It ends when the pieces end, or with Ctrl-C.

    Args:
        pieces: What was added to the log; an empty piece when nothing was.
        source: What to call it.
        tell: Called with each cause once.
        machine: What is known of the machine that writes it.
    """
    text = TextReader()
    session = Session(source)
    told: set[str] = set()
    notes: tuple[str, ...] = ()
    try:
        for piece in text.read(pieces):
            session.feed(piece)
            if not piece:
                session.flush(final=False)
            for cause in session.conclude(machine=machine).causes if session.changed() else ():
                if cause.id not in told:
                    told.add(cause.id)
                    tell(cause)
    except KeyboardInterrupt:
        notes = ("following was ended by the user",)
    session.flush()
    return session.conclude((*text.notes, *notes), machine)


def grown(path: Path, *, idle: float = IDLE) -> Iterator[bytes]:
    """Yield what is in a file and what is added to it, for ever; empty pieces in between.

    A file that is cut or replaced, as log rotation does, is read from its start again.

    Raises:
        InputError: It cannot be read, or is compressed.
    """
    try:
        file: BinaryIO = path.open("rb")
        try:
            while True:
                data = file.read(_CHUNK)
                if data:
                    _refuse_compressed(path, file, data)
                    yield data
                    continue
                yield b""
                time.sleep(idle)
                file = _reopened(path, file)
        finally:
            file.close()
    except OSError as error:
        msg = f"{path}: {error.strerror or error}"
        raise InputError(msg) from error


def _refuse_compressed(path: Path, file: BinaryIO, data: bytes) -> None:
    if file.tell() == len(data) and compressed(data):
        msg = f"{path}: a compressed log cannot be followed"
        raise InputError(msg, hint="without --follow it is read to its end")


def _reopened(path: Path, file: BinaryIO) -> BinaryIO:
    here = os.fstat(file.fileno())
    try:
        there = path.stat()
    except FileNotFoundError:
        return file
    if (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino):
        if there.st_size < file.tell():
            file.seek(0)
        return file
    file.close()
    return path.open("rb")


def piped(descriptor: int | None = None, *, idle: float = IDLE) -> Iterator[bytes]:
    """Yield what comes through a pipe until its end; an empty piece when nothing came."""
    source = sys.stdin.fileno() if descriptor is None else descriptor
    with selectors.DefaultSelector() as selector:
        try:
            selector.register(source, selectors.EVENT_READ)
        except PermissionError:
            # A regular file on standard input is always ready.
            while data := os.read(source, _CHUNK):
                yield data
            return
        while True:
            if not selector.select(idle):
                yield b""
                continue
            data = os.read(source, _CHUNK)
            if not data:
                return
            yield data
