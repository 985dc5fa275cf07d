"""The watch itself: a look every few seconds, and what the rules say of it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dsv4_doctor.watch import exposition
from dsv4_doctor.watch.judging import Judge
from dsv4_doctor.watch.sample import Look, Reading, new_xids, reading
from dsv4_doctor.watch.scrape import ScrapeError, get

if TYPE_CHECKING:
    from collections.abc import Callable
    from urllib.parse import SplitResult

    from dsv4_doctor.facts.driver import Xid
    from dsv4_doctor.facts.gpu import Gpu
    from dsv4_doctor.watch.backend import Used
    from dsv4_doctor.watch.judging import Event


@dataclass(frozen=True)
class Moment:
    """One look, what it says, and what the rules made of it.

    Attributes:
        events: What this look raised or took back.
        raised: What is raised after it.
        xids: Errors of GPUs since the watch began.
    """

    look: Look
    reading: Reading
    events: tuple[Event, ...]
    raised: tuple[Event, ...]
    xids: tuple[Xid, ...] = ()


class Watcher:
    """Looks at one server again and again."""

    def __init__(  # noqa: PLR0913 - where each thing comes from
        self,
        server: SplitResult,
        *,
        limit: float,
        used: Used,
        gpus: Callable[[], tuple[Gpu, ...] | None],
        xids: Callable[[], tuple[Xid, ...] | None],
        judge: Judge | None = None,
    ) -> None:
        self._server = server
        self._limit = limit
        self._used = used
        self._gpus = gpus
        self._xids = xids
        self._judge = judge or Judge()
        self._before: Look | None = None
        self._first_xids = xids()

    def look(self) -> Moment:
        """Look once. What cannot be read is part of the answer, never an error."""
        page, problem = None, ""
        try:
            page = self._page()
        except ScrapeError as error:
            problem = str(error)
        look = Look(time.monotonic(), page, problem, self._gpus(), self._xids())
        taken = reading(look, self._before, self._first_xids)
        if self._used.unexpected is not None:
            signals = {**taken.signals, "backend_unexpected": float(self._used.unexpected)}
            taken = replace(taken, signals=signals)
        self._before = look
        events = self._judge.take(taken)
        known = look.xids is not None and self._first_xids is not None
        xids = new_xids(look.xids or (), self._first_xids or ()) if known else ()
        return Moment(look, taken, events, self._judge.raised, xids)

    def _page(self) -> exposition.Page:
        answer = get(self._server, self._limit)
        if answer.status != 200:
            msg = f"HTTP status {answer.status} instead of a page of metrics"
            raise ScrapeError(msg)
        return exposition.read(answer.body)


def gpus_of_this_machine() -> tuple[Gpu, ...] | None:
    """Return the GPUs as NVML has them now, ``None`` where there are none."""
    from dsv4_doctor.probes import gpu  # noqa: PLC0415 - not for a server elsewhere

    return gpu.every() or None


def xids_of_this_machine() -> tuple[Xid, ...] | None:
    """Return the Xid errors in the kernel's log, ``None`` where it may not be read."""
    from dsv4_doctor.probes import kernel_log  # noqa: PLC0415 - as above

    text = kernel_log.read()
    return None if text is None else kernel_log.parse_xids(text)
