"""A server, launchers of their own, and compilers that are shell scripts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dsv4_build.schedule import launcher
from dsv4_build.schedule.events import FILE, Events
from dsv4_build.schedule.memory import Scope
from dsv4_build.schedule.server import Server, Settings

GIB = 1 << 30
PATIENCE = 30.0


@dataclass
class Site:
    """A build in a directory, with memory as the test says."""

    root: Path
    server: Server
    free: list[int]
    said: list[str]
    children: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def variables(self) -> dict[str, str]:
        return {**os.environ, launcher.VARIABLE: str(self.root / "socket")}

    def compile(
        self, name: str, script: str, cwd: Path | None = None, kind: str = "cu"
    ) -> subprocess.Popen[str]:
        """Start the launcher of a unit whose compiler is a shell script."""
        program = self.root / f"{name}.sh"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        child = start(
            program, f"CMakeFiles/_C.dir/{name}.{kind}.o", self.variables, cwd or self.root
        )
        self.children.append(child)
        return child

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        lines = (self.root / FILE).read_text().splitlines()
        found = [json.loads(line) for line in lines]
        return [each for each in found if not kinds or each["event"] in kinds]

    def wait_for(self, *kinds: str, count: int = 1) -> None:
        until(lambda: len(self.events(*kinds)) >= count)


def start(
    program: Path, target: str, variables: dict[str, str], cwd: Path, before: str = ""
) -> subprocess.Popen[str]:
    """Start the launcher before a program; ``before`` is Python that runs before the launcher."""
    run = "import runpy, sys; del sys.argv[0]; runpy.run_path(sys.argv[0], run_name='__main__')"
    python = ["-c", f"{before}\n{run}"] if before else []
    command = [sys.executable, "-I", "-S", *python, launcher.__file__, str(program)]
    return subprocess.Popen(
        [*command, "-c", "x.cu", "-o", target],
        env=variables,
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def until(done: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


@contextmanager
def site(root: Path, jobs: int = 4, free: int = 64 * GIB) -> Iterator[Site]:
    room, said = [free], list[str]()

    def scopes() -> tuple[Scope, ...]:
        return (Scope("test", 64 * GIB, room[0], 0, None),)

    events = Events(root / FILE)
    settings = Settings(cores=jobs, jobs=jobs, window=64, tree="bench")
    server = Server(root / "socket", settings, events, said.append, scopes)
    server.start()
    made = Site(root, server, room, said)
    try:
        yield made
    finally:
        server.stop()
        for child in made.children:
            child.communicate(timeout=PATIENCE)
        events.close()
    assert server.error is None


def is_running(pid: int) -> bool:
    """Whether a process is there and is no zombie."""
    return _state(pid) not in {"", "Z"}


def is_stopped(pid: int) -> bool:
    """Whether a compiler stands still.

    A shell may have been about to start a program: then it waits in ``vfork`` (D) for a child that
    was stopped before it became that program.
    """
    state = _state(pid)
    return state == "T" or (state == "D" and any(_state(each) == "T" for each in _children(pid)))


def _state(pid: int) -> str:
    return _read(pid, "stat").rpartition(")")[2].partition(" ")[2][:1]


def _children(pid: int) -> list[int]:
    return [int(each) for each in _read(pid, f"task/{pid}/children").split()]


def _read(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text()
    except OSError:
        return ""
