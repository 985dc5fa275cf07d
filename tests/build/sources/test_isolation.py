from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_build.caching import remote
from dsv4_build.caching.choice import Cache
from dsv4_build.sources import isolation
from dsv4_doctor.process import run

_CONNECT = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 5)"


def test_behind_the_prefix_nothing_can_be_reached() -> None:
    found = isolation.probe()
    if not found.isolated:
        pytest.skip(found.because)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        argv = [sys.executable, "-c", _CONNECT, port]
        assert run(argv, limit=60).ok
        inside = run([*found.prefix, *argv], limit=60)
    assert not inside.ok
    assert "unreachable" in inside.stderr
    assert found.interfaces == ("lo",)


def test_the_environment_and_the_status_of_a_command_pass_through() -> None:
    found = isolation.probe()
    done = run([*found.prefix, "sh", "-c", "echo $PLACE; exit 7"], env={"PLACE": "here"}, limit=60)
    assert (done.stdout, done.returncode) == ("here\n", 7)


def test_a_kernel_that_does_not_allow_it_is_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "unshare"
    fake.write_text("#!/bin/sh\necho 'unshare failed: Operation not permitted' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    found = isolation.decide(offline=True, lacking="", variables=())
    assert not found.isolated
    assert "the kernel does not allow to cut it off: unshare failed" in str(found)


def test_no_unshare_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert "it cannot be cut off" in isolation.probe().because


def test_an_unprivileged_user_gets_a_namespace_of_its_own() -> None:
    way = ["unshare", "--user", "--map-root-user", "--net", "--", "cat", "/proc/self/net/dev"]
    done = subprocess.run(way, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(done.stderr)
    assert isolation.interfaces(done.stdout) == ("lo",)


@pytest.mark.parametrize(
    ("offline", "lacking", "variables", "because"),
    [
        (False, "", (), "--online"),
        (None, "2 are missing", (), "2 are missing"),
        (None, "", ("PATH", "SCCACHE_REDIS_ENDPOINT"), "SCCACHE_REDIS_ENDPOINT"),
        (None, "", ("CCACHE_REMOTE_STORAGE",), "CCACHE_REMOTE_STORAGE"),
    ],
)
def test_when_compilers_keep_the_network(
    offline: bool | None, lacking: str, variables: tuple[str, ...], because: str
) -> None:
    found = isolation.decide(offline=offline, lacking=lacking, variables=variables)
    assert not found.isolated
    assert because in str(found)


@pytest.mark.parametrize("offline", [None, True])
def test_a_cache_that_is_asked_over_the_network_is_not_cut_off(offline: bool | None) -> None:
    shared = remote.parse("redis://cache.example.org")
    for cache, because in (
        (Cache("sccache", "asked for"), "sccache's server"),
        (Cache("ccache", "asked for", remote=shared), "is shared over it"),
    ):
        found = isolation.decide(offline=offline, lacking="", variables=(), cache=cache)
        assert not found.isolated
        assert because in str(found)


@given(st.lists(st.text("abcdefgh0123456789@-.", min_size=1)))
def test_names_of_interfaces_are_read_back(names: list[str]) -> None:
    text = "Inter-|   Receive\n face |bytes\n" + "".join(f"{name:>6}: 0 0 0\n" for name in names)
    assert isolation.interfaces(text) == tuple(names)
