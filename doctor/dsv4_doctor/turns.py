"""Threads that read many files take turns.

Python runs one thread at a time, and a thread gives way whenever it asks the kernel for something.
With several that read, every file costs two switches between threads: a fifth of a check's time.
So only one of them works at a time, until it waits for something that takes long: a program, or
another thread.

A turn is a courtesy, no lock: it protects nothing. Whoever has waited for it long goes on without,
and nobody waits any more, because the one that has it hangs.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

# Seconds; longer than what any probe does between two waits.
PATIENCE = 0.1

_turn = threading.Lock()
_own = threading.local()
_stuck = threading.Event()


def held() -> bool:
    """Whether it is this thread's turn."""
    return getattr(_own, "held", False)


def take() -> None:
    """Wait for this thread's turn, unless it has it or somebody hangs."""
    if held() or _stuck.is_set():
        return
    if _turn.acquire(timeout=PATIENCE):
        _own.held = True
    else:
        _stuck.set()


def leave() -> None:
    """Let another thread have its turn."""
    if held():
        _own.held = False
        _turn.release()


class Turn:
    """A context in which it is this thread's turn."""

    def __enter__(self) -> None:
        """Wait for it."""
        take()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let another thread have it."""
        leave()


class Aside:
    """A context that waits for something else: meanwhile another thread has the turn."""

    def __init__(self) -> None:
        self._held = held()

    def __enter__(self) -> None:
        """Let another thread have it."""
        leave()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait for it again where it was this thread's."""
        if self._held:
            take()
