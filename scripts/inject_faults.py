#!/usr/bin/env python3
"""Breaks smoke builds at random moments and looks whether they go on to the same bytes.

    scripts/inject_faults.py [--kills 20] [--full 5] [--interrupts 3] [--seed 1]

Builds the smoke recipe once undisturbed, then for each fault in a work directory of its own:
SIGKILL at a random moment (in turn the doctor alone, whose compilers run on, and everything at
once), a disk that is full (a small file system in memory; needs root), Ctrl-C. After the fault the
same command runs again. One line a fault; exit status 0 when every one ended with the bytes of the
undisturbed build. Takes about 20 s a fault on a free core.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_build import leftovers
from dsv4_build.journal import Journal
from dsv4_build.prune import size
from dsv4_build.publish import sha256
from dsv4_build.work import JOURNAL

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Build:
    """The same build in a place of its own."""

    work: Path
    out: Path

    @property
    def argv(self) -> list[str]:
        """The command."""
        places = ["--work-dir", str(self.work), "--out", str(self.out), "--keep-work"]
        return [
            *(sys.executable, "-m", "dsv4_doctor", "build"),
            *("--recipe", "smoke", "--arch", "sm_90", "--cache", "off", *places),
            # A small disk would be refused before anything is begun.
            *("--force", "build.room.disk", "--cache", "off"),
        ]

    def start(self) -> subprocess.Popen[bytes]:
        """Begin, in a session of its own."""
        return subprocess.Popen(
            self.argv,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def finish(self) -> tuple[int, str]:
        """Run to the end and return the status and the last line on standard error."""
        child = self.start()
        _, err = child.communicate()
        lines = err.decode("utf-8", "replace").strip().splitlines()
        return child.returncode, lines[-1] if lines else ""

    @property
    def digest(self) -> str:
        """SHA-256 of the wheel; empty without one."""
        wheels = list(self.out.glob("*.whl"))
        return sha256(wheels[0]) if wheels else ""

    @property
    def place(self) -> str:
        """The step that was begun last."""
        try:
            begun = [
                each["step"]
                for each in Journal.at(self.work / JOURNAL).read()
                if each["event"] == "begin"
            ]
        except (OSError, KeyError):
            return "-"
        return begun[-1] if begun else "before the first"


def main() -> int:
    """Inject every fault and return the exit status."""
    options = _options()
    # In the background of a shell it is ignored, and so it would be in the builds.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    dice = random.Random(options.seed)
    base = Path(tempfile.mkdtemp(prefix="faults-", dir=options.dir))
    wrong = 0
    try:
        whole = Build(base / "whole" / "work", base / "whole" / "out")
        started = time.monotonic()
        status, last = whole.finish()
        seconds = time.monotonic() - started
        if status != 0:
            print(f"the undisturbed build failed: {last}", file=sys.stderr)
            return 1
        print(f"undisturbed: {seconds:.1f} s, {size(whole.work) >> 10} KiB, {whole.digest}")
        for number in range(options.kills):
            wrong += not _killed(base / f"kill-{number}", dice, seconds, whole.digest, number)
        for number in range(options.full):
            room = size(whole.work) * (2 * number + 1) // (2 * options.full)
            wrong += not _full(base / f"full-{number}", room, whole.digest)
        for number in range(options.interrupts):
            wrong += not _interrupted(base / f"int-{number}", dice, seconds, whole.digest)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    print(f"{wrong} of {options.kills + options.full + options.interrupts} went wrong")
    return int(wrong > 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    for name, default in (("kills", 20), ("full", 5), ("interrupts", 3), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--dir", help="where to build; default: the system's temporary directory")
    return parser.parse_args()


def _killed(base: Path, dice: random.Random, seconds: float, wanted: str, number: int) -> bool:
    build = Build(base / "work", base / "out")
    moment = dice.uniform(0.0, seconds)
    child = build.start()
    with suppress(subprocess.TimeoutExpired):
        child.wait(moment)
    child.kill()
    running = leftovers.running(build.work)
    everything = number % 2 == 1
    if everything:
        for process in running:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
    child.communicate()
    what = "everything" if everything else f"the doctor alone, {len(running)} run on"
    return _resumed(build, f"SIGKILL at {moment:5.1f} s in {build.place} ({what})", wanted)


def _interrupted(base: Path, dice: random.Random, seconds: float, wanted: str) -> bool:
    build = Build(base / "work", base / "out")
    moment = dice.uniform(0.1, 0.8) * seconds
    child = build.start()
    with suppress(subprocess.TimeoutExpired):
        child.wait(moment)
    child.send_signal(signal.SIGINT)
    child.communicate()
    left = len(leftovers.running(build.work))
    what = f"Ctrl-C at {moment:5.1f} s in {build.place} (status {child.returncode}, {left} left)"
    if child.returncode not in {0, 130} or left:
        print(f"{what}: WRONG")
        return False
    return _resumed(build, what, wanted)


def _full(base: Path, room: int, wanted: str) -> bool:
    build = Build(base / "disk" / "work", base / "out")
    with _disk(base / "disk", room) as grow:
        status, last = build.finish()
        what = f"disk full at {room >> 10} KiB in {build.place} (status {status}: {last.strip()})"
        if status == 0:
            print(f"{what}: it was large enough")
            return False
        grow()
        return _resumed(build, what, wanted)


@contextmanager
def _disk(place: Path, room: int) -> Iterator[Grow]:
    """Mount a file system of some bytes, and hand out what makes it large."""
    place.mkdir(parents=True)
    _run("mount", "-t", "tmpfs", "-o", f"size={room}", "none", str(place))
    try:
        yield Grow(place)
    finally:
        _run("umount", "--lazy", str(place))


@dataclass(frozen=True)
class Grow:
    """Makes a file system large enough."""

    place: Path

    def __call__(self) -> None:
        """Make it so."""
        _run("mount", "-o", "remount,size=2g", str(self.place))


def _run(*argv: str) -> None:
    subprocess.run(argv, check=True)


def _resumed(build: Build, what: str, wanted: str) -> bool:
    before = build.digest
    started = time.monotonic()
    status, last = build.finish()
    seconds = time.monotonic() - started
    half = [each.name for each in build.out.glob(".*")] if build.out.is_dir() else []
    right = status == 0 and build.digest == wanted and before in {"", wanted} and not half
    verdict = "the same bytes" if right else f"WRONG: status {status}, {last}, {half}"
    print(f"{what}: went on for {seconds:.1f} s, {verdict}", flush=True)
    return right


if __name__ == "__main__":
    sys.exit(main())
