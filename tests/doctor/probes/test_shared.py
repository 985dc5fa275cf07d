"""One answer for all who ask at the same time, and failures that are not kept."""

from __future__ import annotations

import threading

import pytest

from dsv4_doctor.probes.shared import Shared


class Question:
    """A question that blocks until it is let go, and counts how often it was asked."""

    def __init__(self, *, fails: bool = False) -> None:
        self.asked = 0
        self.fails = fails
        self.started = threading.Event()
        self.go = threading.Event()

    def __call__(self) -> int:
        self.asked += 1
        self.started.set()
        assert self.go.wait(10.0)
        if self.fails:
            msg = "no answer"
            raise LookupError(msg)
        return self.asked


def ask_together(shared: Shared[int], question: Question) -> list[int | str]:
    """Ask from three threads, of which two certainly wait for the first."""
    results: list[int | str] = []

    def ask() -> None:
        try:
            results.append(shared.get())
        except LookupError as error:
            results.append(str(error))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    threads[0].start()
    assert question.started.wait(10.0)
    for thread in threads[1:]:
        thread.start()
    # The others take no lock that could be seen from here; they have started, and soon wait.
    threading.Event().wait(0.2)
    question.go.set()
    for thread in threads:
        thread.join()
    return results


def test_it_is_asked_once() -> None:
    question = Question()
    shared = Shared(question)
    assert ask_together(shared, question) == [1, 1, 1]
    assert shared.get() == 1
    assert question.asked == 1


def test_a_failure_is_that_of_all_who_waited() -> None:
    question = Question(fails=True)
    shared = Shared(question)
    assert ask_together(shared, question) == ["no answer"] * 3
    assert question.asked == 1


def test_who_comes_later_asks_again() -> None:
    question = Question(fails=True)
    question.go.set()
    shared = Shared(question)
    with pytest.raises(LookupError):
        shared.get()
    question.fails = False
    assert shared.get() == 2
