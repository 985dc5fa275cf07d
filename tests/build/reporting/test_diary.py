from __future__ import annotations

import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from tests.build.reporting.examples import EVIL, Writer, eventful, report

from dsv4_build.reporting import ninja_log, units
from dsv4_build.reporting.diary import Diary, Moment
from dsv4_build.schedule import costs


def read(lines: list[str]) -> Diary:
    diary = Diary()
    diary.read(lines)
    return diary


def test_everything_that_happened_to_a_unit_is_kept() -> None:
    diary = read(eventful().lines)
    assert (len(diary.units), len(diary.done), diary.kills, diary.evictions) == (5, 3, 1, 1)
    told = [(each.start, each.end, each.state, each.attempt) for each in diary.units[1].stretches]
    assert told == [
        (2.0, 5.0, "running", 1),
        (5.0, 7.0, "paused", 1),
        (7.0, 9.0, "running", 1),
        (13.0, 20.0, "running", 2),
    ]
    assert diary.units[4].active == "running"
    assert diary.notes == ["a note"]
    assert diary.moments[-1] == Moment(24.0, 6 << 30, 8 << 30, 1, 0, 0, 3 << 30)
    assert not diary.ended


def test_a_build_that_goes_on_begins_anew() -> None:
    writer = eventful()
    writer.begin(cores=16)
    diary = read(writer.lines)
    assert (diary.units, diary.moments, diary.cores, diary.at) == ({}, [], 16, 0.0)


def test_the_units_have_their_outcomes_and_no_two_are_in_one_place() -> None:
    found = {each.name: each for each in report(eventful().lines).units}
    assert {name: each.outcome for name, each in found.items()} == {
        "_fa3_C:hopper/a.cu": "cached",
        "_fa3_C:hopper/b.cu": "compiled",
        "_C:csrc/marlin.cu": "cut off",
        EVIL: "failed",
        "_C:csrc/last.cu": "cut off",
    }
    retried = found["_fa3_C:hopper/b.cu"]
    assert (retried.seconds, retried.tries, retried.killed) == (7.0, 2, 1)
    spans = sorted(
        (span.row, span.start, span.end) for unit in found.values() for span in unit.spans
    )
    for one, other in pairwise(spans):
        assert one[0] != other[0] or one[2] <= other[1]
    assert max(row for row, _, _ in spans) == 1


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["event", "at", "unit", "name", "status", "used", "expected", "try"]),
            st.none()
            | st.integers(-3, 3)
            | st.sampled_from(["begin", "waiting", "admitted", "killed", "ended", "memory", "x"]),
        )
        | st.integers()
        | st.text(max_size=3)
    )
)
def test_any_line_is_read(events: list[object]) -> None:
    diary = read([json.dumps(each) for each in events] + ["{", ""])
    units.of_diary(diary, ())


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20))))
def test_a_row_has_one_unit_at_a_time_and_no_row_is_wasted(pairs: list[tuple[int, int]]) -> None:
    intervals = [(float(start), float(start + length)) for start, length in pairs]
    rows = units.assign_rows(intervals)
    for at, (start, end) in enumerate(intervals):
        for other in range(at):
            if rows[at] == rows[other]:
                before, after = intervals[other]
                assert end <= before or after <= start
    most = max((sum(s <= start < e for s, e in intervals) for start, _ in intervals), default=0)
    instants = sum(s == e for s, e in intervals)
    assert len(set(rows)) <= max(most + instants, 0)


@given(st.lists(st.integers(0, 9), max_size=60), st.integers(1, 20))
def test_thinning_keeps_the_peak(used: list[int], most: int) -> None:
    moments = [Moment(float(at), each, None, 0, 0, 0) for at, each in enumerate(used)]
    kept = units.thinned(moments, most)
    assert len(kept) <= most
    assert max(used, default=0) == max((each.used for each in kept), default=0)
    assert [each.at for each in kept] == sorted(each.at for each in kept)


NINJA = """\
# ninja log v6
1\t90\t0\told/CMakeFiles/_C.dir/csrc/x.cu.o\tabc
5\t2000\t170\tCMakeFiles/_C.dir/csrc/a.cu.o\tabc
7\t3500\t170\tfa/CMakeFiles/_fa3_C.dir/hopper/b.cu.o\tdef
2000\t4000\t170\t_C.abi3.so\t123
3\t1000\t180\tCMakeFiles/_C.dir/csrc/a.cu.o\tabc
1000\t1500\t180\tCMakeFiles/_C.dir/csrc/c.cu.o\tabc
torn\t12
"""


def test_ninjas_log_has_its_last_run() -> None:
    made = ninja_log.parse(NINJA)
    assert [(each.output, each.start, each.end) for each in made] == [
        ("CMakeFiles/_C.dir/csrc/a.cu.o", 0.003, 1.0),
        ("CMakeFiles/_C.dir/csrc/c.cu.o", 1.0, 1.5),
    ]
    runs = units.of_ninja(made, ("/w/source/csrc/c.cu",), costs.family_of)
    assert [(each.name, each.family, each.outcome) for each in runs] == [
        ("_C:csrc/a.cu", "other", "compiled"),
        ("_C:csrc/c.cu", "other", "cached"),
    ]
    assert [each.spans[0].row for each in runs] == [0, 0]


@given(st.text(alphabet="0123456789\t\n#CMakeFiles/.dir.o-²", max_size=200))
def test_any_text_is_a_log(text: str) -> None:
    for each in ninja_log.parse(text):
        assert each.start <= each.end


def test_a_diary_of_another_form_is_empty() -> None:
    writer = Writer()
    writer.say(1, "waiting", unit="x")
    writer.say(1, "read", lines=1)
    assert read(writer.lines).units == {}
