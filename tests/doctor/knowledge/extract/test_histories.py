"""Tables over releases: what is written is what is read."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from dsv4_doctor.knowledge.extract.histories import add, empty
from dsv4_doctor.knowledge.history import recorded, spans

VALUES = st.sampled_from([None, True, 1, 1.0, "1", [], ["a"], {"expression": "f()"}])
SAID = st.fixed_dictionaries(
    {},
    optional={
        "default": VALUES,
        "type": st.sampled_from(["int", "str"]),
        "choices": st.lists(st.sampled_from("abc"), unique=True, min_size=1).map(sorted),
    },
)
RELEASES = ["0.7.2", "0.9.0", "0.9.0.1", "0.10.2", "0.33.0"]
ALL = st.dictionaries(
    st.sampled_from(RELEASES),
    st.dictionaries(st.sampled_from(["--a", "--b", "--c"]), SAID, max_size=3),
    max_size=5,
)


def written(said: dict[str, dict[str, dict[str, Any]]], order: list[str]) -> dict[str, Any]:
    table = empty("x/1", "flags")
    for name in order:
        of = {flag: (each, f"{flag}.py", len(name)) for flag, each in said[name].items()}
        table = json.loads(json.dumps(add(table, "flags", {name: of})))
    return table


@given(ALL, st.randoms())
def test_what_a_release_said_is_read_again_in_whatever_order(
    said: dict[str, dict[str, dict[str, Any]]], random: Any
) -> None:
    order = list(said)
    random.shuffle(order)
    table = written(said, [*order, *order[:1]])
    assert table["releases"] == sorted(said, key=Version)
    found = recorded(table, "flags")
    assert set(found) == {flag for each in said.values() for flag in each}
    whole = {
        name: {flag: (each, f"{flag}.py", len(name)) for flag, each in said[name].items()}
        for name in order
    }
    assert table == json.loads(json.dumps(add(empty("x/1", "flags"), "flags", whole)))
    for flag, each in found.items():
        having = [name for name in table["releases"] if flag in said[name]]
        assert [name for name in table["releases"] if each.within(name)] == having
        assert list(each.places()) == having
        assert each.place == each.places()[having[-1]]
        for name, place in each.places().items():
            assert (place.release, place.file, place.line) == (name, f"{flag}.py", len(name))
        for name in table["releases"]:
            read = each.says(name)
            wanted = said[name].get(flag)
            assert json.dumps(normal(read)) == json.dumps(normal(wanted))


def normal(said: dict[str, Any] | None) -> Any:
    """Without an order of choices, which the table does not keep."""
    if said is None:
        return None
    return {key: sorted(x) if key == "choices" else x for key, x in sorted(said.items())}


@given(ALL)
def test_the_order_of_reading_leaves_no_trace(
    said: dict[str, dict[str, dict[str, Any]]],
) -> None:
    forth = recorded(written(said, sorted(said)), "flags")
    back = recorded(written(said, sorted(said, reverse=True)), "flags")
    assert {name: each.spans for name, each in forth.items()} == {
        name: each.spans for name, each in back.items()
    }


def test_spans() -> None:
    assert spans("0.7.0", "0.9.0") == (("0.7.0", "0.7.0"),)
    assert spans("0.7.0..0.8.0 0.9.0..", "0.9.0") == (("0.7.0", "0.8.0"), ("0.9.0", "0.9.0"))


def test_nothing_is_in_a_release_that_the_table_does_not_know() -> None:
    (only,) = recorded(written({"0.9.0": {"--a": {}}}, ["0.9.0"]), "flags").values()
    assert only.says("0.9.0") == {}
    assert only.says("0.0.1") is None
    assert not only.within("9.9.9")
