"""Real builds, each made once in a session and looked at by many tests."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest
from tests.build import redis_server

from dsv4_build import engine
from dsv4_build.engine import Built
from dsv4_build.progress import Progress
from dsv4_build.request import BuildRequest
from dsv4_doctor.cli import main
from dsv4_doctor.cli.building import preflight, take_facts


@dataclass(frozen=True)
class CommandLine:
    """What a command printed and returned."""

    status: int
    stdout: str
    stderr: str


@pytest.fixture(scope="session")
def real_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache directory of this session, and cmake and ninja of this environment on PATH."""
    cache = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache))
        patch.delenv("SOURCE_DATE_EPOCH", raising=False)
        patch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        yield cache


def command(*arguments: str) -> CommandLine:
    """Run the command line in this process."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main.run(list(arguments))
    return CommandLine(status, out.getvalue(), err.getvalue())


@pytest.fixture(scope="session")
def smoke_command(real_cache: Path) -> tuple[CommandLine, Path]:
    """The smoke tree built for Hopper by the command, with the toolkit that the plan chooses."""
    out = real_cache / "first"
    arguments = ("build", "--recipe", "smoke", "--arch", "sm_90", "--out", str(out))
    # The second build must not take its objects from the first.
    return command(*arguments, "--jobs", "1", "--cache", "off", "--canary"), out


@pytest.fixture(scope="session")
def smoke_again(real_cache: Path, smoke_command: tuple[CommandLine, Path]) -> Built:
    """The same inputs built anew in the same place, killed while compiling, and gone on with."""
    out = real_cache / "second"
    arguments = ("--arch", "sm_90", "--out", str(out), "--cache", "off")
    kill_while_compiling(real_cache, *arguments, "--clean")
    assert not out.exists()
    request = BuildRequest(("sm_90",), out, recipe="smoke", jobs=2, cache="off")
    return engine.build(request, take_facts(request), preflight, progress=Progress(StringIO()))


def kill_while_compiling(cache: Path, *arguments: str) -> None:
    """Build the smoke tree and end the doctor alone with SIGKILL once ninja runs."""
    argv = [sys.executable, "-m", "dsv4_doctor", "build", "--recipe", "smoke", *arguments]
    child = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert child.stderr is not None
    for line in child.stderr:
        if line.startswith("compile"):
            break
    for _ in range(1200):
        if list((cache / "dsv4-doctor" / "work").glob("smoke-*/source/build/temp*/.ninja_log")):
            break
        time.sleep(0.05)
    child.kill()
    child.communicate()
    assert child.returncode == -signal.SIGKILL


@pytest.fixture(scope="session")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a Redis."""
    redis_server.needs("redis-server")
    with redis_server.running(tmp_path_factory.mktemp("redis")) as port:
        yield port


@pytest.fixture(scope="session")
def shared_cache(request: pytest.FixtureRequest) -> str | None:
    """Address of a cache that is shared, where ccache and Redis are installed."""
    if not all(map(shutil.which, ("ccache", "redis-server"))):
        return None
    return redis_server.address(request.getfixturevalue("redis"))


@pytest.fixture(scope="session")
def smoke_parts(real_cache: Path, shared_cache: str | None) -> Built:
    """Parts of the smoke tree, with a toolkit that is fetched from PyPI and a shared cache."""
    request = BuildRequest(
        ("sm_90",),
        real_cache / "parts",
        recipe="smoke",
        toolchain="pypi",
        only=("paged_attention_v2.cu", "fa3"),
        report=real_cache / "parts-report",
        cache_remote=shared_cache,
    )
    return engine.build(request, take_facts(request), preflight, progress=Progress(StringIO()))


@pytest.fixture(scope="session")
def real_toolkit(smoke_parts: Built) -> Path:
    """A CUDA toolkit that compiles; the whole of one would be two gigabytes more."""
    return Path(smoke_parts.plan.choices.toolchain.root)
