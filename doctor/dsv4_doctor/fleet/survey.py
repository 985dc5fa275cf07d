"""Judging many documents side by side, in the order of the documents."""

from __future__ import annotations

import multiprocessing
import os
from itertools import chain, islice
from typing import TYPE_CHECKING

from dsv4_doctor.fleet.documents import read

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dsv4_doctor.fleet.documents import Place
    from dsv4_doctor.fleet.judging import Judge
    from dsv4_doctor.fleet.model import Host, Refused

# Files that one process judges before it hands over: equal findings travel once for all of them.
_CHUNK = 250

# The judge of this worker.
_judges: list[Judge] = []


def survey(places: Iterator[Place], judge: Judge) -> Iterator[Host | Refused]:
    """Judge every document; the memory that this takes does not grow with their number."""
    first = list(islice(places, _CHUNK))
    workers = len(os.sched_getaffinity(0))
    if workers < 2 or len(first) < _CHUNK:
        # One more process would only cost its start.
        for place in chain(first, places):
            yield from map(judge.host, read(place))
        return
    # A started interpreter imports anew; a forked one has all modules and the release already,
    # and this process has no threads.
    context = multiprocessing.get_context("fork")
    with context.Pool(workers, _begin, (judge,)) as pool:
        yield from chain.from_iterable(pool.imap(_chunk, _chunks(first, places)))


def _chunks(first: list[Place], places: Iterator[Place]) -> Iterator[list[Place]]:
    chunk = first
    while chunk:
        yield chunk
        chunk = list(islice(places, _CHUNK))


def _begin(judge: Judge) -> None:
    _judges.append(judge)


def _chunk(places: Sequence[Place]) -> list[Host | Refused]:
    judge = _judges[-1]
    return [judge.host(document) for place in places for document in read(place)]
