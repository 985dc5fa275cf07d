"""Stands before a compiler: asks the server of the build when to start it, and tells how it ended.

CMake puts it before every compiler command. Ninja starts many at a time, so that it has to be
small and to start fast: only the standard library, run with ``python -I -S``, nothing imported of
this package. Without :data:`VARIABLE`, as in a build directory that somebody enters by hand, it
becomes the compiler at once.

Both sides write JSON, one object a line. It says ``argv``, ``cwd`` and ``pid``; ``started``; then
``status`` with what it took. It is told ``run``; ``signal``; then ``done``, or ``again`` when the
compiler is to be started once more later, and what it printed be forgotten.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import resource

VARIABLE = "DSV4_SCHEDULE"

# What CMake compiles to find out about a compiler.
_TRIALS = ("/CMakeScratch/", "/CMakeTmp/", "/CompilerIdCUDA/", "/CompilerIdCXX/")

_TAIL = 4096
_POLL_MILLISECONDS = 100
_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _GoneError(Exception):
    """The server is not there any more."""


def is_unit(argv: list[str], cwd: str) -> bool:
    """Whether a command compiles a unit of the build."""
    if "-c" not in argv or "-o" not in argv[:-1]:
        return False
    return not any(trial in f"{cwd}/" for trial in _TRIALS)


def main(argv: list[str]) -> int:
    """Run a compiler when the server says so and return its exit status."""
    place = os.environ.get(VARIABLE)
    if not place or not is_unit(argv, os.getcwd()):  # noqa: PTH109 - pathlib is slow to import
        os.execvp(argv[0], argv)  # noqa: S606 - it is the compiler
    launcher = _Launcher(argv)
    try:
        launcher.connect(place)
        return launcher.run()
    except (_GoneError, OSError) as error:
        launcher.kill()
        reason = f": {error}" if str(error) else ""
        sys.stderr.write(
            f"dsv4-doctor: the build that schedules this compiler has ended{reason}; "
            f"unset {VARIABLE} to compile without it\n"
        )
        return 1


class _Launcher:
    def __init__(self, argv: list[str]) -> None:
        self._argv = argv
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._pending = b""
        self._child = 0
        self._outputs: list[tuple[int, int]] = []
        for number in _ENDS:
            signal.signal(number, self._end)

    def connect(self, place: str) -> None:
        self._socket.connect(place)
        self._say(argv=self._argv, cwd=os.getcwd(), pid=os.getpid())  # noqa: PTH109

    def run(self) -> int:
        while True:
            order = self._hear()
            if "run" in order:
                status = self._compile(order["run"])
                order = self._hear()
                while "signal" in order:
                    order = self._hear()
            if "done" in order:
                self._forward()
                return status
            self._forget()

    def kill(self) -> None:
        """Kill the compiler and all that it started."""
        if self._child:
            _signal(self._child, signal.SIGKILL)

    def _end(self, number: int, _frame: object) -> None:
        self.kill()
        os._exit(128 + number)

    def _compile(self, score: int) -> int:
        """Run the compiler to its end and tell the server."""
        # A signal that came between a compiler's start and this line would leave it running.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDS)
        try:
            self._child = os.posix_spawnp(
                self._argv[0],
                self._argv,
                os.environ,
                file_actions=self._redirected(),
                setpgroup=0,
                setsigmask=before,
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        _expendable(self._child, score)
        self._say(started=self._child)
        status, usage = self._wait()
        self._child = 0
        self._say(
            status=status,
            cpu=usage.ru_utime + usage.ru_stime,
            largest=usage.ru_maxrss << 10,
            tail=self._tail(),
        )
        return status

    def _wait(self) -> tuple[int, resource.struct_rusage]:
        """Wait for the compiler and do meanwhile what the server says."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        limit = _POLL_MILLISECONDS
        try:
            poll.register(os.pidfd_open(self._child), select.POLLIN)
            limit = -1
        except (AttributeError, OSError):
            pass  # An old kernel or Python: look from time to time.
        while True:
            pid, status, usage = os.wait4(self._child, os.WNOHANG)
            if pid:
                code = os.waitstatus_to_exitcode(status)
                return (128 - code if code < 0 else code), usage
            for descriptor, _event in poll.poll(limit):
                if descriptor == self._socket.fileno():
                    self._obey(self._hear())
                    while b"\n" in self._pending:
                        self._obey(self._hear())

    def _obey(self, order: dict[str, int]) -> None:
        if "signal" in order:
            _signal(self._child, order["signal"])

    def _redirected(self) -> list[tuple[int, int, int]]:
        """Return what makes the compiler write into files of its own, not to be seen too early."""
        self._outputs = [(1, os.memfd_create("stdout"))]
        together = os.path.sameopenfile(1, 2)
        self._outputs.append((2, self._outputs[0][1] if together else os.memfd_create("stderr")))
        return [(os.POSIX_SPAWN_DUP2, file, stream) for stream, file in self._outputs]

    def _files(self) -> dict[int, int]:
        return {file: stream for stream, file in reversed(self._outputs)}

    def _tail(self) -> str:
        text = b""
        for file in self._files():
            size = os.fstat(file).st_size
            text += os.pread(file, _TAIL, max(size - _TAIL, 0))
        return text.decode("utf-8", "replace")

    def _forward(self) -> None:
        for file, stream in self._files().items():
            offset = 0
            while True:
                data = os.pread(file, 1 << 16, offset)
                if not data:
                    break
                offset += os.write(stream, data)

    def _forget(self) -> None:
        for file in self._files():
            os.close(file)
        self._outputs = []

    def _say(self, **message: object) -> None:
        self._socket.sendall(json.dumps(message).encode() + b"\n")

    def _hear(self) -> dict[str, int]:
        while b"\n" not in self._pending:
            data = self._socket.recv(4096)
            if not data:
                raise _GoneError
            self._pending += data
        line, _, self._pending = self._pending.partition(b"\n")
        order: dict[str, int] = json.loads(line)
        return order


def _expendable(pid: int, score: int) -> None:
    """Let the kernel take compilers before ninja and the doctor when memory is short."""
    try:
        with open(f"/proc/{pid}/oom_score_adj", "w") as file:  # noqa: PTH123
            file.write(str(score))
    except OSError:
        return


def _signal(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
