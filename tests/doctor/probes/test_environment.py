"""The environment variables that a snapshot may hold, and the values that it must not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_doctor.probes import environment
from dsv4_doctor.probes.registry import Request


def test_only_what_matters_in_order_of_names() -> None:
    found = environment.select(
        {
            "VLLM_USE_DEEP_GEMM": "0",
            "HOME": "/root",
            "CUDA_HOME": "/usr/local/cuda",
            "CMAKE_ARGS": "-DX=1",
            "MAX_JOBS": "8",
            "EDITOR": "vi",
        }
    )
    assert list(found.items()) == [
        ("CMAKE_ARGS", "-DX=1"),
        ("CUDA_HOME", "/usr/local/cuda"),
        ("MAX_JOBS", "8"),
        ("VLLM_USE_DEEP_GEMM", "0"),
    ]


@pytest.mark.parametrize(
    "name", ["VLLM_API_KEY", "NVIDIA_TOKEN", "VLLM_client_secret", "TRITON_PASSWORD"]
)
def test_secrets_are_only_said_to_be_set(name: str) -> None:
    assert environment.select({name: "hunter2"}) == {name: environment.HIDDEN}


def test_a_value_that_is_no_text_can_be_written() -> None:
    found = environment.select({"CUDA_HOME": "/opt/\udcff"})
    assert json.dumps(found).encode("utf-8")
    assert found["CUDA_HOME"].startswith("/opt/")


def test_the_probe_reads_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NVCC_CCBIN", "/usr/bin/g++-13")
    assert environment.probe(Request())["NVCC_CCBIN"] == "/usr/bin/g++-13"


@given(st.dictionaries(st.text(), st.text()))
def test_nothing_else_ever_appears(environ: dict[str, str]) -> None:
    for name in environment.select(environ):
        assert name in environment.NAMES or name.startswith(environment.PREFIXES)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("https://me:secret@host/simple", "https://<set>@host/simple"),
        ("http://proxy:3128", "http://proxy:3128"),
        ("https://a:b@c https://d@e/f@g", "https://<set>@c https://<set>@e/f@g"),
    ],
)
def test_no_password_of_an_address_is_kept(value: str, expected: str) -> None:
    assert environment.select({"PIP_INDEX_URL": value}) == {"PIP_INDEX_URL": expected}


@given(st.text(alphabet="abc:@/ ", max_size=20))
def test_what_follows_the_password_stays(text: str) -> None:
    assert environment.without_password(f"https://user:hidden@{text}").startswith("https://<set>@")
