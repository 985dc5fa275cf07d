"""Several questions at once: each call in a thread of its own."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")


def gather(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Run the calls side by side and return their results in the order of the calls.

    The threads are daemons, as those of the probes are. ``concurrent.futures`` is not used because
    importing it takes longer than most of the calls.

    Raises:
        Exception: The first error in the order of the calls, after all have ended.
    """
    results: dict[int, T] = {}
    errors: dict[int, Exception] = {}

    def run(index: int, call: Callable[[], T]) -> None:
        try:
            results[index] = call()
        except Exception as error:  # noqa: BLE001 - raised again in the caller's thread
            errors[index] = error

    # The caller's own thread takes the first call: one question costs no thread.
    threads = [
        threading.Thread(target=run, args=(index, call), daemon=True)
        for index, call in enumerate(calls)
        if index
    ]
    for thread in threads:
        thread.start()
    if calls:
        run(0, calls[0])
    for thread in threads:
        thread.join()
    if errors:
        raise errors[min(errors)]
    return [results[index] for index in range(len(calls))]


def both(first: Callable[[], A], second: Callable[[], B]) -> tuple[A, B]:
    """Run two calls of different kinds side by side; errors as with :func:`gather`."""
    results = gather([cast("Callable[[], object]", first), cast("Callable[[], object]", second)])
    return cast("tuple[A, B]", tuple(results))
