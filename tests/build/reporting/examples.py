"""Builds that never were: diaries of the compile engine in the layout of docs/schedule.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dsv4_build.caching.statistics import Statistics
from dsv4_build.reporting.diary import Diary
from dsv4_build.reporting.model import BuildReport, Outcome, StepRun
from dsv4_build.reporting.units import of_diary, thinned

GIB = 1 << 30
EVIL = "_C:csrc/</script><img src=x onerror=alert(1)>.cu"


class Writer:
    """Writes events as the engine does."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, at: float, event: str, **fields: Any) -> None:
        self.lines.append(json.dumps({"event": event, "at": at, **fields}))

    def begin(self, cores: int = 2) -> None:
        self.say(0, "begin", schema="dsv4-doctor/schedule/1", cores=cores, jobs=cores, window=4)

    def waiting(self, at: float, unit: int, name: str, family: str, seconds: float = 10) -> None:
        expected = {"seconds": seconds, "peak": 3 * GIB, "basis": "measured"}
        self.say(at, "waiting", unit=unit, name=name, object="", family=family, expected=expected)

    def ended(self, at: float, unit: int, status: int = 0, tries: int = 1) -> None:
        took = {"seconds": 5, "cpu_seconds": 4.5, "peak": 2 * GIB, "tries": tries}
        self.say(at, "ended", unit=unit, name="", status=status, paused=0, learned=True, **took)

    def memory(self, at: float, used: int, running: int = 1) -> None:
        units = {"1": used // 2}
        self.say(at, "memory", used=used, limit=8 * GIB, running=running, paused=0, units=units)


def eventful() -> Writer:
    """A build with everything in it that can happen to a unit."""
    writer = Writer()
    writer.begin()
    names = [
        "_fa3_C:hopper/a.cu",
        "_fa3_C:hopper/b.cu",
        "_C:csrc/marlin.cu",
        EVIL,
        "_C:csrc/last.cu",
    ]
    for unit, name in enumerate(names):
        writer.waiting(unit, unit, name, name.partition(":")[0])
    writer.say(1, "admitted", unit=0, **{"try": 1})
    writer.say(2, "admitted", unit=1, **{"try": 1})
    writer.say(5, "paused", unit=1, because="memory")
    writer.say(7, "resumed", unit=1, because="memory")
    writer.say(9, "killed", unit=1, how="signal 9", peak=5 * GIB, next="alone", **{"try": 1})
    writer.ended(11, 0)
    writer.say(11, "admitted", unit=2, **{"try": 1})
    writer.say(12, "evicted", unit=2, because="memory", cpu_seconds=1)
    writer.say(13, "admitted", unit=1, **{"try": 2})
    writer.ended(20, 1, tries=2)
    writer.say(20, "admitted", unit=3, **{"try": 1})
    writer.ended(24, 3, status=1)
    writer.say(24, "admitted", unit=4, **{"try": 1})
    for at in range(1, 25):
        writer.memory(at, at * GIB // 4)
    writer.say(24.5, "note", text="a note")
    return writer


def report(lines: list[str], outcome: Outcome = "failed") -> BuildReport:
    """The account of a build with this diary."""
    diary = Diary()
    diary.read(lines)
    return BuildReport(
        outcome=outcome,
        error="" if outcome == "built" else "ninja failed\nfirst cause: <b>memory</b>",
        what="vLLM 0.24.0",
        archs=("sm_90",),
        toolchain="nvcc 13.0.88, g++ 12.2.0",
        started="2026-11-29T21:00:00.000+00:00",
        seconds=25.0,
        cores=2,
        jobs=2,
        memory=8 * GIB,
        measured=bool(diary.moments),
        steps=(StepRun("compile", "failed", 24.0, 20.0, 5 * GIB),),
        units=of_diary(diary, ("/w/source/hopper/a.cu",)),
        moments=thinned(diary.moments),
        evictions=diary.evictions,
        cache=Statistics(1, 3, 0, 0, 0, ("/w/source/hopper/a.cu",)),
        notes=tuple(diary.notes),
        log=str(Path("/w/build.log")),
    )
