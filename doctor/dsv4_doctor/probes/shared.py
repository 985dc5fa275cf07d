"""One answer for several probes that ask the same question at the same time."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Shared(Generic[T]):
    """A question that is asked once.

    A good answer is kept for the life of the process. A failure is that of all who waited for it,
    so that two probes do not wait for one hanging program in turn; who comes later asks again.
    """

    def __init__(self, ask: Callable[[], T]) -> None:
        self._ask = ask
        self._lock = threading.Lock()
        self._answers: list[T] = []
        self._failure: tuple[float, Exception] | None = None

    def get(self) -> T:
        """Return the answer, waiting for it if it is being asked for.

        Raises:
            Exception: What the question raises.
        """
        came = time.monotonic()
        with self._lock:
            if self._answers:
                return self._answers[0]
            if self._failure is not None and self._failure[0] >= came:
                raise self._failure[1]
            try:
                self._answers.append(self._ask())
            except Exception as error:
                self._failure = time.monotonic(), error
                raise
            return self._answers[0]
