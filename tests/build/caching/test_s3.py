"""A real sccache that shares its cache through S3, of a server that checks signatures."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from tests.build import s3_server
from tests.build.caching.bench import Bench, cache
from tests.build.s3_server import S3

from dsv4_build import engine
from dsv4_build.engine import Built
from dsv4_build.progress import Progress
from dsv4_build.request import BuildRequest
from dsv4_doctor.cli.building import preflight, take_facts
from dsv4_doctor.errors import BuildError

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    s3_server.needs()
    with s3_server.running(tmp_path_factory.mktemp("s3")) as server:
        yield server


def test_a_colleague_gets_it_from_the_bucket(bench: Bench, s3: S3, tmp_path: Path) -> None:
    used = cache("sccache", s3.address("team"))
    mine, first = bench.compile(used, flags=s3.keys["team"])
    assert (first.hits, first.misses, first.remote_errors) == (0, 1, 0)
    # nvcc's objects tell paths, and a build has the same everywhere; all else is another machine's.
    elsewhere = Bench(bench.work, tmp_path / "elsewhere", {**bench.environ, "HOME": "/nowhere"})
    theirs, second = elsewhere.compile(used, flags=s3.keys["reader"])
    assert (second.hits, second.remote_hits) == (1, 1)
    assert theirs == mine
    assert not bench.place.exists()
    files = [each for each in tmp_path.rglob("*") if each.is_file()]
    assert files
    assert not [each for each in files if any(word in each.read_bytes() for word in s3.secrets)]


def test_a_profile_in_the_home_directory_will_do(bench: Bench, s3: S3, tmp_path: Path) -> None:
    key = "".join(f"{name.lower()} = {value}\n" for name, value in s3.keys["team"].items())
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text(f"[default]\n{key}")
    assert bench.environ["HOME"] == str(tmp_path)
    _, statistics = bench.compile(cache("sccache", s3.address("profile")), value=6)
    assert (statistics.misses, statistics.remote_errors) == (1, 0)


def test_who_may_only_read_is_told_that_nothing_was_kept(bench: Bench, s3: S3) -> None:
    _, statistics = bench.compile(
        cache("sccache", s3.address("read")), value=4, flags=s3.keys["reader"]
    )
    assert statistics.misses == 1
    assert statistics.remote_errors > 0


def test_a_server_that_goes_away_stops_nothing_and_is_said(bench: Bench, tmp_path: Path) -> None:
    s3_server.needs()
    (tmp_path / "s3").mkdir()

    def gone() -> None:
        server.process.terminate()
        server.process.wait(20)

    with s3_server.running(tmp_path / "s3") as server:
        used = cache("sccache", server.address("team"))
        built, statistics = bench.compile(used, value=5, flags=server.keys["team"], before=gone)
    assert built
    assert (statistics.misses, statistics.remote_hits) == (1, 0)
    assert statistics.remote_errors > 0
    assert "the shared cache failed" in statistics.text


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _refused(bench: Bench, address: str, key: dict[str, str]) -> BuildError:
    # The host's own credentials, where it is a cloud's, are none of the test.
    flags = {"AWS_EC2_METADATA_DISABLED": "true", **key}
    with pytest.raises(BuildError, match="does not start, or does not reach") as caught:
        bench.compile(cache("sccache", address), flags=flags)
    return caught.value


@pytest.mark.parametrize(
    ("reason", "change"),
    [
        ("S3 answers SignatureDoesNotMatch", {"AWS_SECRET_ACCESS_KEY": "hunter2"}),
        ("S3 answers InvalidAccessKeyId", {"AWS_ACCESS_KEY_ID": "hunter2"}),
        ("no credentials are found", None),
    ],
)
def test_wrong_credentials_are_said_before_anything_is_compiled(
    bench: Bench, s3: S3, reason: str, change: dict[str, str] | None
) -> None:
    key = {} if change is None else {**s3.keys["team"], **change}
    error = _refused(bench, s3.address("team"), key)
    assert str(error).endswith(f"s3://builds/team: {reason}")
    assert "AWS_* variables right? --cache off" in error.hint
    assert not (bench.work.root / "kernel.o").exists()
    assert not {"hunter2", *s3.keys["team"].values()} & set(str(error).split())


def test_a_wrong_address_is_said_with_its_reason(bench: Bench, s3: S3) -> None:
    key = s3.keys["team"]
    absent = s3.address("team", bucket="absent")
    assert str(_refused(bench, absent, key)).endswith("s3://absent/team: S3 answers NoSuchBucket")
    there = f"endpoint=http://127.0.0.1:{s3.port}"
    assert "no region is named" in str(_refused(bench, f"s3://builds?{there}", key))
    down = f"s3://builds?region=us-east-1&endpoint=http://127.0.0.1:{_free_port()}"
    assert str(_refused(bench, down, key)).endswith("s3://builds: nothing listens there")
    unknown = "s3://builds?region=us-east-1&endpoint=http://cache.invalid"
    assert str(_refused(bench, unknown, key)).endswith("s3://builds: no such host is known")


def _build(place: Path, address: str) -> Built:
    request = BuildRequest(
        ("sm_90",),
        place / "out",
        recipe="smoke",
        toolchain="pypi",
        only=("paged_attention_v2.cu",),
        work_dir=place / "work",
        report=place / "report",
        cache_remote=address,
    )
    return engine.build(request, take_facts(request), preflight, progress=Progress(StringIO()))


@pytest.mark.usefixtures("real_toolkit")
def test_a_build_elsewhere_takes_its_units_from_the_bucket(
    s3: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache("sccache")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, value in s3.keys["team"].items():
        monkeypatch.setenv(name, value)
    first, second = (_build(tmp_path / name, s3.address("build")) for name in ("mine", "theirs"))
    assert first.plan.cache.kind == "sccache"
    assert first.cache is not None
    # What CMake tries is counted, too, and is the same in both.
    assert (first.cache.hits, first.cache.remote_errors) == (0, 0)
    assert first.cache.misses > 0
    assert second.cache is not None
    assert (second.cache.hits, second.cache.misses) == (first.cache.misses, 0)
    assert second.cache.remote_hits == second.cache.hits
    objects = [next((tmp_path / name / "out").rglob("*.o")) for name in ("mine", "theirs")]
    assert objects[0].read_bytes() == objects[1].read_bytes()
    files = [each for each in tmp_path.rglob("*") if each.is_file()]
    assert {"build-report.json", "build.log"} <= {each.name for each in files}
    assert not [each for each in files if any(word in each.read_bytes() for word in s3.secrets)]
    assert not [word for word in s3.secrets if word.decode() in json.dumps(second.to_json())]
