"""Which release reads which environment variable."""

from __future__ import annotations

import pytest

from dsv4_doctor.knowledge.variables import Variables, variables

TABLE = Variables(
    ("0.1", "0.2", "0.3", "0.4"),
    {
        "ALWAYS": {"in": "0.1..", "at": "0:7"},
        "GONE": {"in": "0.1..0.2", "at": "0:9"},
        "AGAIN": {"in": "0.1 0.3..0.4", "at": "0:5 1:4 3"},
    },
    ("vllm/envs.py", "setup.py"),
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ALWAYS", ("0.1", "0.2", "0.3", "0.4")),
        ("GONE", ("0.1", "0.2")),
        ("AGAIN", ("0.1", "0.3", "0.4")),
        ("NEVER", ()),
    ],
)
def test_releases_that_read_it(name: str, expected: tuple[str, ...]) -> None:
    assert TABLE.read_in(name) == expected


def test_where_the_newest_reads_it() -> None:
    assert str(TABLE.place("AGAIN")) == "vllm 0.4 setup.py:3"


def test_the_table_itself() -> None:
    table = variables()
    assert table.covers("0.24.0")
    assert not table.covers("0.99.0")
    for name in table.table:
        assert table.read_in(name), name
        assert table.place(name).line


def test_what_vllm_reads_and_what_it_never_did() -> None:
    table = variables()
    assert "0.24.0" in table.read_in("VLLM_CACHE_ROOT")
    assert table.read_in("VLLM_ATTENTION_BACKEND")[-1] == "0.14.1"
    for name in ("VLLM_ENABLE_FLASH_ATTN", "VLLM_ENABLE_PAGED_ATTENTION_V2", "VLLM_USE_TRITON"):
        assert table.read_in(name) == ()
