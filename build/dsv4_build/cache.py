"""Where the build keeps what it may need again, and locks that keep two builds apart."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.errors import BuildError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_NOBODY = "a process that does not say which"


def cache_root(environ: Mapping[str, str] | None = None) -> Path:
    """Return ``$XDG_CACHE_HOME/dsv4-doctor``, by default ``~/.cache/dsv4-doctor``.

    Raises:
        UsageError: Neither the variable nor a home directory tells a place.
    """
    variables = os.environ if environ is None else environ
    base = variables.get("XDG_CACHE_HOME", "")
    # The specification says that a relative path has to be ignored.
    if base and Path(base).is_absolute():
        return Path(base) / "dsv4-doctor"
    try:
        return Path.home() / ".cache" / "dsv4-doctor"
    except RuntimeError as error:
        msg = "no home directory to keep a cache in"
        raise UsageError(msg, hint="set XDG_CACHE_HOME to an absolute path") from error


@contextmanager
def locked(path: Path, *, on_wait: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold the lock file ``path``; the kernel drops it when the process dies.

    The file says who holds it; see :func:`holder`.

    Args:
        on_wait: Called once when another process holds the lock, before waiting for it;
            ``None`` refuses instead of waiting.

    Raises:
        BuildError: Held by another process and ``on_wait`` is ``None``, or not to be created.
    """
    while True:
        descriptor = _open(path)
        try:
            _acquire(descriptor, path, on_wait)
            if not _is_at(descriptor, path):
                continue  # It was removed while this process waited for it.
            _sign(descriptor)
            yield
            return
        finally:
            os.close(descriptor)


def holder(path: Path) -> str:
    """Return who holds a lock file, for messages."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip() or _NOBODY
    except OSError:
        return _NOBODY


def _open(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        msg = f"{path}: cannot be locked: {error.strerror}"
        raise BuildError(msg) from error


def _acquire(descriptor: int, path: Path, on_wait: Callable[[], None] | None) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        if on_wait is None:
            msg = f"another process holds {path}: {holder(path)}"
            raise BuildError(msg, hint="wait for it to end, or --work-dir DIR") from error
        on_wait()
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _sign(descriptor: int) -> None:
    since = time.strftime("%Y-%m-%d %H:%M:%S %z")
    # A disk that is full must not keep anybody from removing what fills it.
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()}, since {since}\n".encode(), 0)
