"""Running probes: crashes, hangs and broken imports stay with the probe that has them."""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from dsv4_doctor.facts.driver import Driver
from dsv4_doctor.facts.symbols import Symbols
from dsv4_doctor.probes.registry import PROBES, Probe, Request, take_snapshot
from dsv4_doctor.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable

DRIVER = Driver("580.159.04", "open", None, None, None)


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module whose functions are probes."""
    made = ModuleType("probes_of_this_test")
    monkeypatch.setitem(sys.modules, made.__name__, made)
    return made


def probe(module: ModuleType, name: str, function: Callable[[Request], Any]) -> Probe:
    setattr(module, name, function)
    return Probe(name, f"{module.__name__}:{name}")


def crash(_request: Request) -> Any:
    msg = "no such thing"
    raise LookupError(msg)


def good(_request: Request) -> Any:
    return DRIVER


def error_of(snapshot: Snapshot, name: str) -> str | None:
    run = snapshot.probe(name)
    assert run is not None
    return run.error


def test_sections_and_times(module: ModuleType) -> None:
    snapshot = take_snapshot(Request(), [probe(module, "driver", good)])
    assert snapshot.driver == DRIVER
    assert [run.name for run in snapshot.probes] == ["driver"]
    assert error_of(snapshot, "driver") is None
    assert snapshot.gpus is None


def test_the_request_is_handed_on(module: ModuleType) -> None:
    request = Request(python="/usr/bin/python3")
    snapshot = take_snapshot(
        request, [probe(module, "environment", lambda each: {"python": each.python})]
    )
    assert snapshot.environment == {"python": "/usr/bin/python3"}


def test_a_crash_is_named_and_hides_no_other(module: ModuleType) -> None:
    probes = [probe(module, "gpus", crash), probe(module, "driver", good)]
    snapshot = take_snapshot(Request(), probes)
    assert snapshot.gpus is None
    assert error_of(snapshot, "gpus") == "LookupError: no such thing"
    assert snapshot.driver == DRIVER


def test_a_hang_ends_at_the_limit_and_hides_no_other(module: ModuleType) -> None:
    release = threading.Event()
    hung = probe(module, "gpus", lambda _request: release.wait(60.0))
    try:
        snapshot = take_snapshot(Request(), [hung, probe(module, "driver", good)], limit=0.2)
    finally:
        release.set()
    assert snapshot.gpus is None
    assert error_of(snapshot, "gpus") == "no answer within 0.2 s"
    assert snapshot.driver == DRIVER


def test_all_hang(module: ModuleType) -> None:
    release = threading.Event()
    names = ("gpus", "pci", "driver")
    try:
        snapshot = take_snapshot(
            Request(),
            [probe(module, name, lambda _request: release.wait(60.0)) for name in names],
            limit=0.2,
        )
    finally:
        release.set()
    assert [run.name for run in snapshot.probes] == list(names)
    assert {run.error for run in snapshot.probes} == {"no answer within 0.2 s"}


def test_probes_that_cannot_be_imported(module: ModuleType) -> None:
    snapshot = take_snapshot(
        Request(),
        [
            Probe("gpus", "no_such_module_of_ours:probe"),
            Probe("pci", f"{module.__name__}:no_such_function"),
        ],
    )
    assert (error_of(snapshot, "gpus") or "").startswith("ModuleNotFoundError: No module named")
    assert (error_of(snapshot, "pci") or "").startswith("AttributeError: ")


def test_a_hang_does_not_keep_the_process_alive(module: ModuleType) -> None:
    release = threading.Event()
    before = set(threading.enumerate())
    try:
        take_snapshot(
            Request(), [probe(module, "gpus", lambda _request: release.wait(60.0))], limit=0.1
        )
        left = set(threading.enumerate()) - before
        assert left
        assert all(thread.daemon for thread in left)
    finally:
        release.set()


def test_the_order_of_runs_is_that_of_the_probes(module: ModuleType) -> None:
    slow = probe(module, "gpus", lambda _request: time.sleep(0.05))
    snapshot = take_snapshot(Request(), [slow, probe(module, "driver", good)])
    assert [run.name for run in snapshot.probes] == ["gpus", "driver"]


@pytest.fixture
def not_activated(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)


def test_a_probe_that_looks_deep_runs_only_when_asked(module: ModuleType) -> None:
    looked = Symbols(None, (), ())
    slow = replace(probe(module, "symbols", lambda _request: looked), deep=True)
    assert take_snapshot(Request(), [slow]).probes == ()
    assert take_snapshot(Request(deep=True), [slow]).symbols == looked


def test_every_probe_answers_whatever_the_machine(not_activated: None) -> None:
    snapshot = take_snapshot(Request(deep=True), limit=60.0)
    assert [run.name for run in snapshot.probes] == [each.name for each in PROBES]
    assert [run for run in snapshot.probes if run.error] == []
    assert all(getattr(snapshot, each.name) is not None for each in PROBES)


def test_a_missing_interpreter_is_the_error_of_one_probe() -> None:
    snapshot = take_snapshot(Request(python="/no/such/python"), limit=60.0)
    assert [run.name for run in snapshot.probes if run.error] == ["python"]
    assert error_of(snapshot, "python") == (
        "InterpreterError: /no/such/python: not a Python interpreter that can be run"
    )
