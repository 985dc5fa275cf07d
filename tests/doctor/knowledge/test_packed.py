"""The small form of a release's file loses nothing."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dsv4_doctor.knowledge.extract.writing import render_rows
from dsv4_doctor.knowledge.packed import pack, unpack

FILE = st.sampled_from(["CMakeLists.txt", "vllm/envs.py", "a:b/c.py", "METADATA"])
LINE = st.integers(1, 9999)
ELSEWHERE = st.fixed_dictionaries(
    {"project": st.sampled_from(["torch", "x/y"]), "release": st.text(max_size=5), "file": FILE},
    optional={"line": LINE},
)
PLACE = st.one_of(st.builds("{}:{}".format, FILE, LINE), st.just("a page"), ELSEWHERE)
RECORD = st.fixed_dictionaries(
    {"at": st.one_of(PLACE, st.lists(PLACE, max_size=3))},
    optional={"value": st.text(max_size=3), "archs": st.lists(st.just("9.0a"), max_size=2)},
)
DATA = st.fixed_dictionaries(
    {"schema": st.just("x/2"), "release": st.just("0.1")},
    optional={
        "torch": RECORD,
        "gcc": st.lists(RECORD, max_size=2),
        "features": st.dictionaries(st.sampled_from(["fa3", "at home"]), RECORD, max_size=2),
        "not_established": st.lists(st.text(max_size=5), max_size=2),
    },
)


@given(DATA)
def test_what_is_packed_is_unpacked_again(data: dict[str, Any]) -> None:
    text = render_rows(pack(data))
    assert unpack(json.loads(text)) == data


@given(DATA)
def test_a_file_is_named_once(data: dict[str, Any]) -> None:
    files = [json.dumps(each) for each in pack(data)["files"]]
    assert len(files) == len(set(files))


def test_the_form_is_readable_by_lines() -> None:
    data = {"schema": "x/2", "features": {"a": {"at": "f.py:1"}, "b": {"at": "f.py:2"}}}
    assert render_rows(pack(data)) == (
        '{\n"schema":"x/2",\n"files":["f.py"],\n'
        '"features":{\n"a":{"at":"0:1"},\n"b":{"at":"0:2"}\n}\n}\n'
    )
