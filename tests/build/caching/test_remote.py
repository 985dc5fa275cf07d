from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_build.caching import remote
from dsv4_doctor.errors import UsageError


def test_an_address_is_shown_without_what_is_secret_in_it() -> None:
    found = remote.parse("redis://team:hunter2@cache.example:6380/3")
    assert found.shown == "redis://cache.example:6380/3"
    assert "hunter2" not in repr(found)


def test_each_program_gets_the_address_in_its_own_form() -> None:
    found = remote.parse("redis://team:p%40ss@cache.example/1")
    assert found.for_ccache() == {
        "CCACHE_REMOTE_STORAGE": "redis://team:p%40ss@cache.example:6379/1"
    }
    assert found.for_sccache() == {
        "SCCACHE_REDIS_ENDPOINT": "redis://cache.example:6379",
        "SCCACHE_REDIS_USERNAME": "team",
        "SCCACHE_REDIS_PASSWORD": "p@ss",
        "SCCACHE_REDIS_DB": "1",
    }


@pytest.mark.parametrize("login", ["secret", ":secret"])
def test_a_password_alone_is_written_in_two_ways(login: str) -> None:
    found = remote.parse(f"redis://{login}@[::1]:7000")
    assert found.for_ccache() == {"CCACHE_REMOTE_STORAGE": "redis://secret@[::1]:7000"}
    assert found.for_sccache()["SCCACHE_REDIS_PASSWORD"] == "secret"
    assert found.shown == "redis://[::1]:7000"


def test_a_bucket_is_for_sccache() -> None:
    found = remote.parse("s3://builds/vllm/h200?region=eu-north-1&endpoint=https://s3.example")
    assert found.for_sccache() == {
        "SCCACHE_BUCKET": "builds",
        "SCCACHE_S3_KEY_PREFIX": "vllm/h200",
        "SCCACHE_REGION": "eu-north-1",
        "SCCACHE_ENDPOINT": "https://s3.example",
    }
    assert found.shown == "s3://builds/vllm/h200"


@pytest.mark.parametrize(
    "text",
    [
        "cache.example",
        "http://cache.example",
        "redis://",
        "redis://secretword@host:port",
        "redis://secretword@host/db",
        "redis://secretword@host/1?timeout=3",
        "s3://key:secretword@bucket",
        "s3://bucket?secretword=1",
        "s3://bucket?endpoint=secretword",
        "s3://bucket?endpoint=http://",
        "s3://bucket?endpoint=http://key:secretword@host",
        "s3://bucket?endpoint=http://[secretword",
        "redis://[secretword",
    ],
)
def test_what_is_no_address_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(UsageError, match="no address") as caught:
        remote.parse(text)
    assert "secretword" not in str(caught.value) + caught.value.hint


@given(text=st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    for prefix in ("", "redis://", "s3://"):
        try:
            found = remote.parse(prefix + text)
        except UsageError:
            continue
        assert found.kind in {"redis", "s3"}


@given(password=st.text(min_size=1, max_size=30).filter(lambda text: text.isprintable()))
def test_any_password_reaches_the_program_whole_and_nobody_else(password: str) -> None:
    found = remote.parse(f"redis://u:{quote(password, safe='')}@host")
    assert found.for_sccache()["SCCACHE_REDIS_PASSWORD"] == password
    assert not set(found.for_ccache()["CCACHE_REMOTE_STORAGE"]) & set(" |")
    assert found.shown == "redis://host:6379"
