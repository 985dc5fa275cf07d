"""Admits the compilers of a build, watches them and memory, and steps in before the kernel does.

Everything happens in one thread: what the launchers say, a look at processes and memory every half
second (:mod:`dsv4_build.schedule.gauge`), and the decisions of
:func:`dsv4_build.schedule.policy.decide`.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Thread
from typing import TYPE_CHECKING, Any

from dsv4_build.schedule import killed, memory, procfs
from dsv4_build.schedule.costs import expected
from dsv4_build.schedule.gauge import Gauge
from dsv4_build.schedule.learned import Learned
from dsv4_build.schedule.lessons import Lessons
from dsv4_build.schedule.policy import decide
from dsv4_build.schedule.unit import Unit, archs_of, object_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dsv4_build.schedule.events import Events
    from dsv4_build.schedule.learned import Record
    from dsv4_build.schedule.memory import Scope

# Seconds between looks at processes and memory, and while memory is short.
LOOK, CLOSE_LOOK = 0.5, 0.1

# Ninja hands many units over at once, and the first are not the longest: nothing starts until none
# has come for a moment, but no unit waits longer than the second number of seconds for that.
SETTLE, SETTLE_MOST = 0.2, 1.0

# The kernel takes compilers before anything of a score of zero.
OOM_SCORE = 500


@dataclass(frozen=True)
class Settings:
    """What a build may use.

    Attributes:
        cores: Processors.
        jobs: Most compilers at a time.
        window: Units that ninja hands over at a time.
        tree: Name of the recipe, whose units these are.
        learned: What this machine has learned before.
    """

    cores: int
    jobs: int
    window: int
    tree: str
    learned: Learned = field(default_factory=lambda: Learned({}))


class Server(Thread):
    """Schedules the compilers of one build.

    Args:
        place: Path of the socket, which must not exist.
        say: Takes what a person should know.
        scopes: Tells the limits of memory; for tests.
    """

    def __init__(
        self,
        place: Path,
        settings: Settings,
        events: Events,
        say: Callable[[str], None],
        scopes: Callable[[], tuple[Scope, ...]] = memory.scopes,
    ) -> None:
        super().__init__(name="schedule", daemon=True)
        self.error: BaseException | None = None
        self.count = self.kills = self.evictions = 0
        self.largest = 0
        self._settings, self._events, self._say = settings, events, say
        self._gauge = Gauge(scopes, events, self._note)
        self._lessons = Lessons()
        self._units: dict[socket.socket, Unit] = {}
        self._buffers: dict[socket.socket, bytes] = {}
        self._looked = 0.0
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(place))
        self._listener.listen(1024)
        self._waker, self._wake = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        for each in (self._listener, self._waker):
            self._selector.register(each, selectors.EVENT_READ)

    @property
    def learned(self) -> dict[str, Record]:
        """What the units took, by name."""
        return self._lessons.records

    def stop(self) -> None:
        """End the thread; launchers that are left end with an error."""
        with suppress(OSError):
            # It has ended by itself when it broke.
            self._wake.send(b"x")
        self.join()
        self._wake.close()

    def run(self) -> None:
        """Serve until :meth:`stop`."""
        try:
            self._begin()
            while self._serve():
                pass
            self._finish()
        except BaseException as error:  # noqa: BLE001 - told to the one who stops the thread
            self.error = error
        finally:
            self._selector.close()
            for each in (*self._buffers, self._listener, self._waker):
                each.close()

    def _begin(self) -> None:
        found = self._gauge.begin()
        tight = memory.tightest(found)
        self._events.begin(
            cores=self._settings.cores,
            jobs=self._settings.jobs,
            window=self._settings.window,
            memory=tight.free if tight is not None else None,
            reserve=memory.guard_of(tight.limit) if tight is not None else None,
            scopes=[{"name": scope.name, "limit": scope.limit} for scope in found],
        )
        for scope in found:
            if scope.together:
                self._note(f"{scope.name}: where one is killed for memory, all of it is")

    def _finish(self) -> None:
        self._events.write(
            "end", units=self.count, killed=self.kills, evicted=self.evictions, largest=self.largest
        )

    def _serve(self) -> bool:
        close = any(unit.state == "paused" for unit in self._units.values()) or self._settling
        known = self._gauge.memory
        interval = CLOSE_LOOK if close or known.free < 2 * known.guard else LOOK
        busy = bool(self._units)
        for key, _ in self._selector.select(interval if busy else None):
            if key.fileobj is self._waker:
                return False
            if key.fileobj is self._listener:
                self._accept()
            else:
                self._read(key.fileobj)  # type: ignore[arg-type]
        now = time.monotonic()
        if now - self._looked >= interval:
            self._looked = now
            self._look(now)
        self._decide(now)
        return True

    @property
    def _settling(self) -> bool:
        came = [unit.since for unit in self._units.values() if unit.state == "waiting"]
        now = time.monotonic()
        return bool(came) and now - max(came) < SETTLE and now - min(came) < SETTLE_MOST

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        self._buffers[connection] = b""
        self._selector.register(connection, selectors.EVENT_READ)

    def _read(self, connection: socket.socket) -> None:
        try:
            data = connection.recv(1 << 16)
        except OSError:
            data = b""
        if not data:
            self._lost(connection)
            return
        *lines, self._buffers[connection] = (self._buffers[connection] + data).split(b"\n")
        for line in lines:
            self._take(connection, json.loads(line))

    def _lost(self, connection: socket.socket) -> None:
        """Forget a launcher, and kill the compiler that it may have left behind."""
        self._selector.unregister(connection)
        connection.close()
        del self._buffers[connection]
        unit = self._units.pop(connection, None)
        if unit is not None and unit.state in {"running", "paused", "evicted"} and unit.pid:
            try:
                os.killpg(unit.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                return
            self._note(f"the launcher of {unit.name} was killed")

    def _take(self, connection: socket.socket, message: dict[str, Any]) -> None:
        if "argv" in message:
            self._arrived(connection, message["argv"])
        elif "started" in message:
            unit = self._units[connection]
            unit.state, unit.pid = "running", int(message["started"])
        elif "status" in message:
            self._ended(connection, self._units[connection], message)

    def _arrived(self, connection: socket.socket, argv: list[str]) -> None:
        self.count += 1
        path = object_of(argv)
        settings = self._settings
        cost = expected(path, archs_of(argv), settings.tree, settings.learned)
        unit = self._units[connection] = Unit(self.count, path, cost, time.monotonic())
        wanted = unit.expectation(self._lessons.speed)
        self._events.write(
            "waiting",
            unit=unit.number,
            name=unit.name,
            object=path,
            family=cost.family,
            expected={
                "seconds": round(wanted.seconds, 1),
                "peak": wanted.peak,
                "basis": cost.basis,
            },
        )

    def _ended(self, connection: socket.socket, unit: Unit, message: dict[str, Any]) -> None:
        status, cpu, largest = message["status"], message["cpu"], message["largest"]
        if unit.state == "evicted" and status:
            unit.evictions += 1
            unit.wait()
            self._send(connection, again=1)
            return
        how = killed.how(status, message["tail"])
        if how is not None and self._killed(unit, how):
            unit.wait()
            self._send(connection, again=1)
            return
        unit.state = "judging"
        learned = status == 0 and unit.compiled
        record = unit.record(cpu, largest)
        self.largest = max(self.largest, record.peak)
        if learned:
            self._lessons.compiled(unit, record)
        self._events.write(
            "ended",
            unit=unit.number,
            name=unit.name,
            status=status,
            seconds=round(time.monotonic() - unit.started, 2),
            cpu_seconds=round(cpu, 2),
            peak=record.peak,
            paused=round(unit.paused_seconds, 2),
            tries=unit.tries,
            learned=learned,
        )
        self._units.pop(connection)
        self._send(connection, done=1)

    def _killed(self, unit: Unit, how: str) -> bool:
        """Note that a unit was killed and return whether it gets another try."""
        self.kills += 1
        unit.kills += 1
        again = unit.kills == 1
        self._events.write(
            "killed",
            unit=unit.number,
            how=how,
            peak=unit.peak,
            next="alone" if again else "fatal",
            **{"try": unit.tries},
        )
        had = f"{unit.name} was killed ({how}) with {unit.peak / 1e9:.1f} GB in use"
        if again:
            self._say(f"{had}; it is tried again alone")
        else:
            self._lessons.killed(unit)
            free = self._gauge.memory.free / 1e9
            self._say(f"{had}, although it ran alone; {free:.1f} GB are free: it needs more")
        return again

    def _look(self, now: float) -> None:
        for unit in self._units.values():
            if unit.state in {"running", "paused"}:
                unit.see(procfs.use(unit.pid))
        self._gauge.read(self._units.values(), now)

    def _note(self, text: str) -> None:
        self._events.write("note", text=text)
        self._say(text)

    def _decide(self, now: float) -> None:
        live, waiting, settling = [], [], self._settling
        speed, by_number = self._lessons.speed, {}
        for connection, unit in self._units.items():
            by_number[unit.number] = connection
            if unit.state == "waiting" and not settling:
                waiting.append(unit.as_waiting(speed))
            elif unit.state in {"starting", "running", "paused"}:
                live.append(unit.as_running(speed))
        decision = decide(live, waiting, self._gauge.memory, self._settings.jobs, now)
        for number, because in decision.admit.items():
            self._admit(by_number[number], because)
        for number, because in decision.pause.items():
            self._pause(by_number[number], because, now)
        for number, because in decision.resume.items():
            self._resume(by_number[number], because, now)
        for number, because in decision.evict.items():
            self._evict(by_number[number], because)

    def _admit(self, connection: socket.socket, because: str) -> None:
        unit = self._units[connection]
        unit.start()
        self._events.write("admitted", unit=unit.number, because=because, **{"try": unit.tries})
        self._send(connection, run=OOM_SCORE)

    def _pause(self, connection: socket.socket, because: str, now: float) -> None:
        unit = self._units[connection]
        if unit.state != "running":
            return
        unit.pause(now)
        self._events.write("paused", unit=unit.number, because=because)
        self._send(connection, signal=signal.SIGSTOP)

    def _resume(self, connection: socket.socket, because: str, now: float) -> None:
        unit = self._units[connection]
        unit.resume(now)
        self._events.write("resumed", unit=unit.number, because=because)
        self._send(connection, signal=signal.SIGCONT)

    def _evict(self, connection: socket.socket, because: str) -> None:
        unit = self._units[connection]
        unit.state = "evicted"
        self.evictions += 1
        cpu = round(unit.cpu_seconds, 1)
        self._events.write("evicted", unit=unit.number, because=because, cpu_seconds=cpu)
        self._send(connection, signal=signal.SIGKILL)

    def _send(self, connection: socket.socket, **order: int) -> None:
        try:
            connection.sendall(json.dumps(order).encode() + b"\n")
        except OSError:
            # Its end is read as one of file, at the next turn.
            return
