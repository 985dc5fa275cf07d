"""The entry point of the image as a process: what it starts, what it passes on, how it ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_entrypoint import health
from dsv4_entrypoint import log as logs
from dsv4_entrypoint.log import Log

ENTRYPOINT = Path(__file__).parents[2] / "docker/entrypoint"

# Stands for the doctor: says how it was called, and behaves as its environment says.
DOCTOR = """
import os, pathlib, sys, time
name = sys.argv[1]
with open(os.environ["CALLS"], "a") as file:
    print(*sys.argv[1:], file=file)
if name == "check":
    print("findings")
    time.sleep(float(os.environ.get("CHECK_SLEEPS", "0")))
    sys.exit(int(os.environ.get("CHECK", "0")))
print("cause in", pathlib.Path(sys.argv[-1]).read_text())
"""
REAL_DOCTOR = "import sys\nfrom dsv4_doctor.cli.main import main\nmain()\n"


class Place:
    """A directory laid out as the image has it, with a server of a few lines of shell."""

    def __init__(self, root: Path, server: str, doctor: str = DOCTOR) -> None:
        self.root = root
        shutil.copytree(
            ENTRYPOINT, root / "entrypoint", ignore=shutil.ignore_patterns("__pycache__")
        )
        (root / "doctor").mkdir()
        (root / "doctor/__main__.py").write_text(doctor)
        (root / "bin").mkdir()
        if server:
            (root / "bin/vllm").write_text(f"#!/bin/sh\n{server}\n")
            (root / "bin/vllm").chmod(0o755)

    def start(
        self, *arguments: str, before: tuple[str, ...] = (), **env: str
    ) -> subprocess.Popen[str]:
        (self.root / "calls").touch()
        return subprocess.Popen(
            [*before, sys.executable, "-I", str(self.root / "entrypoint"), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={
                "PATH": f"{self.root / 'bin'}:/usr/bin:/bin",
                "HOME": str(self.root),
                "CALLS": str(self.root / "calls"),
                **env,
            },
        )

    def run(self, *arguments: str, **env: str) -> tuple[int, str, str]:
        process = self.start(*arguments, before=(), **env)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    @property
    def calls(self) -> list[str]:
        return (self.root / "calls").read_text().splitlines()


@pytest.fixture
def place(tmp_path: Path) -> Callable[..., Place]:
    return lambda server, doctor=DOCTOR: Place(tmp_path, server, doctor)


def test_it_serves_with_the_arguments_and_ends_as_the_server(place: Callable[..., Place]) -> None:
    here = place('echo "args: $*"; echo log >&2; exit 7')
    status, out, err = here.run("model", "--port", "1", DSV4_PREFLIGHT="off")
    assert (status, out) == (7, "args: serve model --port 1\n")
    assert err.startswith("log\n")


def test_a_server_that_a_signal_ended(place: Callable[..., Place]) -> None:
    assert place("kill -KILL $$").run(DSV4_PREFLIGHT="off")[0] == 128 + signal.SIGKILL


@pytest.mark.parametrize(
    ("mode", "check", "served"),
    [
        ("off", "1", True),
        ("warn", "1", True),
        ("warn", "3", True),
        ("enforce", "0", True),
        ("enforce", "3", True),
        ("enforce", "1", False),
        ("enforce", "4", False),
    ],
)
def test_the_preflight_decides_as_its_mode_says(
    place: Callable[..., Place], mode: str, check: str, served: bool
) -> None:
    here = place("echo served")
    status, out, err = here.run(DSV4_PREFLIGHT=mode, CHECK=check)
    assert out == ("served\n" if served else "")
    assert status == (0 if served else int(check))
    assert here.calls == ([] if mode == "off" else ["check --for serve"])
    assert ("findings" in err) == (mode != "off")
    assert ("not serving" in err) != served


def test_more_arguments_of_the_check(place: Callable[..., Place]) -> None:
    here = place("true")
    here.run(DSV4_CHECK="--arch sm_90 --ignore 'pcie.*'")
    assert here.calls == ["check --for serve --arch sm_90 --ignore pcie.*"]


@pytest.mark.parametrize(("mode", "status"), [("warn", 0), ("enforce", 1)])
def test_a_preflight_that_hangs(place: Callable[..., Place], mode: str, status: int) -> None:
    here = place("echo served")
    found, out, err = here.run(DSV4_PREFLIGHT=mode, CHECK_SLEEPS="600", DSV4_PREFLIGHT_LIMIT="0.5")
    assert (found, out) == (status, "" if status else "served\n")
    assert "more than 0.5 s" in err


@pytest.mark.parametrize(
    "wrong",
    [
        {"DSV4_PREFLIGHT": "maybe"},
        {"DSV4_DIAGNOSE": "yes"},
        {"DSV4_PREFLIGHT_LIMIT": "soon"},
        {"DSV4_PREFLIGHT_LIMIT": "-1"},
        {"DSV4_PREFLIGHT_LIMIT": "nan"},
        {"DSV4_CHECK": "'"},
    ],
    ids=lambda wrong: "=".join(*wrong.items()),
)
def test_a_wrong_choice_is_named_and_nothing_is_served(
    place: Callable[..., Place], wrong: dict[str, str]
) -> None:
    status, out, err = place("echo served").run(**wrong)
    assert (status, out) == (2, "")
    assert next(iter(wrong)) in err


@pytest.mark.parametrize("diagnose", ["on", "off"])
def test_no_server_at_all(place: Callable[..., Place], diagnose: str) -> None:
    status, _, err = place("").run(DSV4_PREFLIGHT="off", DSV4_DIAGNOSE=diagnose)
    assert status == 127
    assert "vllm: No such file" in err


def wait_for(path: Path) -> None:
    for _ in range(600):
        if path.exists():
            return
        time.sleep(0.05)
    raise AssertionError(path)


@pytest.mark.parametrize("diagnose", ["on", "off"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_signals_reach_the_server_and_its_answer_is_the_status(
    place: Callable[..., Place], number: signal.Signals, diagnose: str
) -> None:
    name = number.name.removeprefix("SIG")
    here = place(
        f"trap 'echo got {name}; exit 9' {name}; touch $HOME/up; while :; do sleep 0.05; done"
    )
    process = here.start(DSV4_PREFLIGHT="off", DSV4_DIAGNOSE=diagnose)
    wait_for(here.root / "up")
    process.send_signal(number)
    out, _ = process.communicate(timeout=30)
    assert (process.returncode, out) == (9, f"got {name}\n")
    # A server that was asked to end has not failed.
    asked = number in {signal.SIGTERM, signal.SIGINT}
    assert any(call.startswith("diagnose") for call in here.calls) == (
        diagnose == "on" and not asked
    )


def test_a_signal_during_the_preflight_ends_it(place: Callable[..., Place]) -> None:
    here = place("echo served")
    process = here.start(CHECK_SLEEPS="600")
    for _ in range(600):
        if here.calls:
            break
        time.sleep(0.05)
    process.terminate()
    out, _ = process.communicate(timeout=30)
    assert (process.returncode, out) == (128 + signal.SIGTERM, "")


def test_the_log_of_a_server_that_failed_is_diagnosed(place: Callable[..., Place]) -> None:
    here = place("echo first; sleep 0.2; echo second >&2; exit 1")
    status, out, err = here.run(DSV4_PREFLIGHT="off")
    assert (status, out) == (1, "first\n")
    assert err.startswith("second\n")
    assert "ended with status 1" in err
    assert "cause in first\nsecond" in err
    assert here.calls[0].startswith("diagnose --live ")
    # The log is gone with the process.
    assert not Path(here.calls[0].split()[-1]).exists()


def test_what_a_server_left_behind_with_its_output_open(place: Callable[..., Place]) -> None:
    here = place("sleep 20 & exit 3")
    process = here.start(DSV4_PREFLIGHT="off")
    # The pipe to this test stays open as long; only the end of the process is waited for.
    assert process.wait(timeout=15) == 3
    process.communicate()


def test_with_both_switched_off_the_server_takes_its_place(place: Callable[..., Place]) -> None:
    process = place("echo $$").start(DSV4_PREFLIGHT="off", DSV4_DIAGNOSE="off")
    assert process.communicate(timeout=30)[0] == f"{process.pid}\n"


UNSHARE = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")


@pytest.mark.skipif(
    os.geteuid() != 0 or subprocess.run([*UNSHARE, "true"], check=False).returncode != 0,
    reason="no PID namespace can be made here",
)
def test_as_process_1_it_reaps_orphans_and_takes_signals(place: Callable[..., Place]) -> None:
    here = place(
        "trap 'exit 9' TERM; for i in 1 2 3; do sh -c 'sleep 0.1 &' ; done; sleep 0.6; "
        "grep -l '^State:.Z' /proc/[0-9]*/status | wc -l; "
        "tr '\\0' ' ' </proc/1/cmdline; echo; touch $HOME/up; while :; do sleep 0.05; done"
    )
    process = here.start("model", before=UNSHARE, DSV4_PREFLIGHT="off")
    wait_for(here.root / "up")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(children[0]), signal.SIGTERM)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 9, err
    zombies, first = out.splitlines()
    assert zombies == "0"
    assert first.endswith("entrypoint model ")


def test_the_real_doctor_finds_what_is_wrong_and_names_the_cause(
    place: Callable[..., Place],
) -> None:
    line = "RuntimeError: The NVIDIA driver on your system is too old (found version 12020)."
    here = place(f'echo "{line}"; exit 1', REAL_DOCTOR)
    status, out, err = here.run(DSV4_PREFLIGHT="warn", DSV4_CHECK="--select 'driver.*,gpu.*'")
    assert (status, out) == (1, f"{line}\n")
    preflight, _, diagnosis = err.partition("what its log says")
    assert "verdict: " in preflight
    assert "first cause: the driver is too old for this CUDA" in diagnosis


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=30))
def test_the_log_keeps_the_beginning_and_the_end(pieces: list[bytes]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logs, "HEAD", 50)
        patch.setattr(logs, "TAIL", 60)
        with tempfile.TemporaryDirectory() as folder:
            log = Log(Path(folder, "x"))
            for each in pieces:
                log._keep(each)
            log.close()
            kept = Path(folder, "x").read_bytes()
    whole = b"".join(pieces)
    assert kept == whole or (len(kept) <= 50 + 40 + 60 + 40 and whole.startswith(kept[:50]))
    assert whole.endswith(kept[-60:])


@pytest.mark.parametrize(
    ("arguments", "url"),
    [
        ([], "http://127.0.0.1:8000/health"),
        (["x", "--port", "81"], "http://127.0.0.1:81/health"),
        (["--port=82", "--host", "::"], "http://127.0.0.1:82/health"),
        (["--ssl-certfile", "c.pem"], "https://127.0.0.1:8000/health"),
        (["--port"], "http://127.0.0.1:/health"),
    ],
)
def test_where_health_is_asked(arguments: list[str], url: str) -> None:
    assert health.address(arguments) == url


@pytest.fixture
def server() -> Iterator[HTTPServer]:
    class Handler(BaseHTTPRequestHandler):
        status = 200

        def do_GET(self) -> None:
            self.send_response(self.status if self.path == "/health" else 404)
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as made:
        made.RequestHandlerClass = Handler
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def test_health_is_the_servers_own_answer(
    server: HTTPServer, capsys: pytest.CaptureFixture[str]
) -> None:
    url = health.address(["--port", str(server.server_port)])
    assert health.ask(url) == 0
    server.RequestHandlerClass.status = 503  # type: ignore[attr-defined]
    assert health.ask(url) == 1
    assert "503" in capsys.readouterr().err
    assert health.ask("http://127.0.0.1:/health") == 1
