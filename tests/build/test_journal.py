from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_build.journal import Journal, boot, parse
from dsv4_doctor.errors import BuildError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
EVENTS = st.lists(
    st.fixed_dictionaries({"event": st.text()}, optional={"step": st.text(), "more": VALUES})
)


def _content(events: list[dict[str, object]]) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in events)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    journal = Journal.at(tmp_path / "journal")
    assert journal.read() == []
    journal.append("begin", step="compile")
    journal.append("end", step="compile", detail="line\nfeed")
    assert Journal.at(tmp_path / "journal").read() == [
        {"event": "begin", "step": "compile"},
        {"event": "end", "step": "compile", "detail": "line\nfeed"},
    ]


@given(events=EVENTS, data=st.data())
def test_a_torn_journal_has_every_line_before_the_tear(
    events: list[dict[str, object]], data: st.DataObject
) -> None:
    content = _content(events)
    cut = data.draw(st.integers(0, len(content)))
    whole = content[:cut].count(b"\n")
    assert parse(content[:cut]) == events[:whole]


@given(events=EVENTS, data=st.data())
def test_a_line_after_a_tear_is_read(
    tmp_path_factory: pytest.TempPathFactory, events: list[dict[str, object]], data: st.DataObject
) -> None:
    file = tmp_path_factory.mktemp("journal") / "journal"
    content = _content(events)
    cut = data.draw(st.integers(0, len(content)))
    file.write_bytes(content[:cut])
    journal = Journal.at(file)
    journal.append("end", step="next")
    found = journal.read()
    assert found[-1] == {"event": "end", "step": "next"}
    # A line that lacks nothing but its line feed is given that by the next one.
    assert found[:-1] in (events[: content[:cut].count(b"\n")], events[: len(found) - 1])


@given(content=st.binary())
def test_no_bytes_break_it(content: bytes) -> None:
    assert all(isinstance(each["event"], str) for each in parse(content))


def test_a_disk_that_takes_half_a_line_leaves_the_journal_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal.at(tmp_path / "journal")
    journal.append("begin", step="compile")
    real = os.write
    calls: list[int] = []

    def full(descriptor: int, data: bytes) -> int:
        calls.append(descriptor)
        if len(calls) > 1:
            raise OSError(28, "No space left on device")
        return real(descriptor, data[:5])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(BuildError, match="No space left"):
        journal.append("end", step="compile")
    monkeypatch.undo()
    assert (tmp_path / "journal").read_bytes().endswith(b"}\n")
    assert journal.read() == [{"event": "begin", "step": "compile"}]


def test_a_journal_that_is_a_directory(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="cannot be read"):
        Journal.at(tmp_path).read()
    with pytest.raises(BuildError, match="cannot be written"):
        Journal.at(tmp_path).append("begin")


def test_a_boot_has_one_name() -> None:
    assert boot() == boot()
