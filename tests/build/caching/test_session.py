"""Real caches before a real nvcc, with a real Redis."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.build import redis_server
from tests.build.caching.bench import Bench, cache

from dsv4_build.caching.choice import Cache
from dsv4_build.process import Job, run_logged
from dsv4_doctor.errors import BuildError

pytestmark = pytest.mark.real


@pytest.mark.parametrize("kind", ["ccache", "sccache"])
def test_a_hit_gives_the_same_bytes_and_a_change_is_no_hit(bench: Bench, kind: str) -> None:
    used = cache(kind)
    flags = {"NVCC_APPEND_FLAGS": "-objtemp"} if kind == "ccache" else {}
    cold, first = bench.compile(used, flags=flags)
    assert (first.hits, first.misses) == (0, 1)
    warm, second = bench.compile(used, flags=flags)
    assert (second.hits, second.misses) == (1, 0)
    assert warm == cold
    changed, third = bench.compile(used, value=2, flags=flags)
    assert (third.hits, third.misses) == (0, 1)
    assert changed != cold


def test_the_variables_of_nvcc_are_part_of_the_key(bench: Bench) -> None:
    used = cache("ccache")
    plain, _ = bench.compile(used)
    debug, statistics = bench.compile(used, flags={"NVCC_PREPEND_FLAGS": "-G"})
    assert statistics.hits == 0
    assert debug != plain


def test_what_ccache_gives_is_what_nvcc_gives(bench: Bench) -> None:
    cached, _ = bench.compile(cache("ccache"), flags={"NVCC_APPEND_FLAGS": "-objtemp"})
    target = bench.work.root / "kernel.o"
    target.unlink()
    argv = [bench.environ["CUDACXX"], "-gencode=arch=compute_90,code=sm_90", "-c", "kernel.cu"]
    environ = {**bench.environ, "NVCC_APPEND_FLAGS": "-objtemp"}
    run_logged(Job([*argv, "-o", "kernel.o"], environ, bench.work.log, bench.work.root, 120))
    assert target.read_bytes() == cached


@pytest.mark.parametrize("kind", ["ccache", "sccache"])
def test_a_colleague_gets_it_from_redis_and_nobody_the_password(
    bench: Bench, redis: int, kind: str
) -> None:
    used = cache(kind, redis_server.address(redis))
    mine, first = bench.compile(used, value=3)
    assert (first.hits, first.remote_errors) == (0, 0)
    shutil.rmtree(bench.place, ignore_errors=True)
    theirs, second = bench.compile(used, value=3)
    assert second.hits == 1
    assert theirs == mine
    if kind == "ccache":
        assert second.remote_hits == 1
    for file in bench.work.root.rglob("*"):
        assert not file.is_file() or b"hunter2" not in file.read_bytes()


def test_a_shared_cache_that_refuses_is_said_and_stops_nothing(bench: Bench, redis: int) -> None:
    _, statistics = bench.compile(cache("ccache", redis_server.address(redis, "wrong")))
    assert (statistics.misses, statistics.remote_errors) == (1, 1)
    assert "address and credentials" in statistics.text


def test_a_server_of_sccache_that_does_not_start_is_said_with_its_reason(bench: Bench) -> None:
    used = Cache("sccache", "asked for", "/bin/false", "0.16.0")
    with pytest.raises(BuildError, match="/bin/false does not start"):
        bench.compile(used)


def test_what_compiles_and_cannot_be_read_is_said(bench: Bench, tmp_path: Path) -> None:
    used = Cache("ccache", "asked for", "/usr/bin/true", "4.7.5")
    with pytest.raises(BuildError, match="does not tell its parts"):
        bench.compile(used, flags={"CC": str(tmp_path / "gcc")})
