"""The late dataclass is the standard library's, whichever of its parts is asked for first."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_doctor import lazy_dataclass


def made(decorator: Any, *, frozen: bool = True, **options: bool) -> Any:
    """Return a new class of the same shape, decorated."""
    late = decorator is lazy_dataclass.dataclass
    field: Any = lazy_dataclass.field if late else dataclasses.field
    namespace = {
        "__module__": __name__,
        "__qualname__": "Point",
        "__doc__": "A point.",
        "__annotations__": {"x": "int", "y": "str", "z": "float", "tags": "dict[str, int]"},
        "z": 0.5,
        "tags": field(default_factory=dict),
        "twice": property(lambda self: 2 * self.x),
    }
    return decorator(frozen=frozen, **options)(type("Point", (), namespace))


def both(**options: bool) -> tuple[Any, Any]:
    return made(lazy_dataclass.dataclass, **options), made(dataclasses.dataclass, **options)


ways: dict[str, Callable[[Any], Any]] = {
    "repr": lambda cls: repr(cls(1, "a")),
    "equal": lambda cls: (cls(1, "a") == cls(1, "a"), cls(1, "a") == cls(2, "a"), cls(1, "a") == 3),
    "different": lambda cls: cls(1, "a") != cls(1, "b"),
    "fields": lambda cls: [(each.name, each.type) for each in dataclasses.fields(cls)],
    "of an instance": lambda cls: [each.name for each in dataclasses.fields(cls(1, "a"))],
    "is": lambda cls: (dataclasses.is_dataclass(cls), dataclasses.is_dataclass(cls(1, "a"))),
    "asdict": lambda cls: dataclasses.asdict(cls(1, "a", tags={"b": 2})),
    "replace": lambda cls: dataclasses.asdict(dataclasses.replace(cls(1, "a"), y="c")),
    "match": lambda cls: cls.__match_args__,
    "parameters": lambda cls: cls.__dataclass_params__.frozen,
    "default": lambda cls: (cls.z, hasattr(cls, "tags"), cls(1, "a").tags),
    "keywords": lambda cls: vars(cls(y="a", x=1, tags={})) == vars(cls(1, "a")),
    "own": lambda cls: (cls(3, "a").twice, cls.__doc__, cls.__name__),
    "copied": lambda cls: copy.deepcopy(cls(1, "a")) == cls(1, "a"),
    "default is its own": lambda cls: cls(1, "a").tags is cls(1, "a").tags,
}


@pytest.mark.parametrize("way", ways)
@pytest.mark.parametrize("order", [False, True])
def test_it_is_as_the_standard_librarys(way: str, order: bool) -> None:
    late, real = both(order=order)
    assert ways[way](late) == ways[way](real)
    # And once more, now that it is finished.
    assert ways[way](late) == ways[way](real)


@pytest.mark.parametrize("compare", ["__lt__", "__le__", "__gt__", "__ge__"])
@given(st.integers(0, 2), st.integers(0, 2))
def test_order(compare: str, one: int, two: int) -> None:
    late, real = both(order=True)
    assert getattr(late(one, "a"), compare)(late(two, "a")) == getattr(real(one, "a"), compare)(
        real(two, "a")
    )


def test_without_order_there_is_none() -> None:
    late, _ = both()
    with pytest.raises(TypeError):
        assert late(1, "a") < late(2, "a")


@lazy_dataclass.dataclass(frozen=True)
class Pair:
    """A class that can be found by its name, and hashed."""

    one: int
    two: int = 2


def test_hash_and_pickle() -> None:
    assert hash(Pair(1)) == hash(Pair(1, 2))
    assert {Pair(1), Pair(1), Pair(2)} == {Pair(1), Pair(2)}
    assert pickle.loads(pickle.dumps(Pair(3))) == Pair(3)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ((), {}),
        ((1,), {}),
        ((1, "a", 1.0, {}, 5), {}),
        ((1, "a"), {"x": 1}),
        ((1,), {"y": "a", "w": 1}),
        ((), {"y": "a"}),
    ],
)
def test_wrong_arguments(values: tuple[Any, ...], named: dict[str, Any]) -> None:
    late, real = both()
    with pytest.raises(TypeError):
        real(*values, **named)
    with pytest.raises(TypeError, match="Point"):
        late(*values, **named)


@dataclasses.dataclass(frozen=True)
class Nested:
    """One with everything that a report has."""

    pair: Pair | None
    pairs: tuple[Pair, ...] = ()
    named: dict[str, tuple[Pair, ...]] = lazy_dataclass.field(default_factory=dict)  # noqa: RUF009


pairs = st.builds(Pair, st.integers(), st.integers())


@given(
    st.builds(
        Nested,
        st.none() | pairs,
        st.lists(pairs, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=3), st.lists(pairs, max_size=2).map(tuple), max_size=2),
    )
)
def test_as_data_is_what_asdict_says_in_json(value: Nested) -> None:
    whole = (value, value.pair)
    expected = json.dumps([each and dataclasses.asdict(each) for each in whole])
    assert json.dumps(lazy_dataclass.as_data(whole)) == expected


def test_as_data_finishes_no_class() -> None:
    late, _ = both()
    assert lazy_dataclass.as_data(late(z=1.0, y="a", x=1)) == {
        "x": 1,
        "y": "a",
        "z": 1.0,
        "tags": {},
    }
    assert list(lazy_dataclass.as_data(late(y="a", x=1))) == ["x", "y", "z", "tags"]
    assert not isinstance(vars(late)["__dataclass_fields__"], dict)


def test_it_is_frozen() -> None:
    late, _ = both()
    instances: tuple[Any, ...] = (late(1, "a"), Pair(1))
    for instance in instances:
        with pytest.raises(dataclasses.FrozenInstanceError):
            instance.x = 2
        with pytest.raises(dataclasses.FrozenInstanceError):
            del instance.one


def test_what_it_cannot_do_is_refused() -> None:
    late = lazy_dataclass.dataclass
    with pytest.raises(TypeError, match="only for frozen"):
        made(late, frozen=False)
    with pytest.raises(TypeError, match="without bases"):
        late(frozen=True)(type("A", (Pair,), {}))
    for name in ("__eq__", "__post_init__", "__slots__", "__init__"):
        with pytest.raises(TypeError, match=name):
            late(frozen=True)(type("A", (), {name: ()}))


def test_two_threads_may_be_the_first() -> None:
    for _ in range(20):
        late, _real = both()
        wait = threading.Barrier(8)
        results: list[bool] = []

        def first(cls: Any = late, wait: Any = wait, results: list[bool] = results) -> None:
            wait.wait()
            results.append(cls(1, "a") == cls(1, "a") and len(dataclasses.fields(cls)) == 4)

        threads = [threading.Thread(target=first) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == [True] * 8


def test_a_field_of_the_standard_library_is_refused() -> None:
    namespace = {
        "__annotations__": {"tags": "dict[str, int]"},
        "tags": dataclasses.field(default_factory=dict),
    }
    with pytest.raises(TypeError, match="not of the standard library"):
        lazy_dataclass.dataclass(frozen=True)(type("Point", (), namespace))


def test_replacing_makes_another_instance() -> None:
    cls, _ = both()
    before = cls(1, "a", tags={"b": 2})
    after = lazy_dataclass.replace(before, x=3)
    assert (before.x, after.x, after.y, after.tags) == (1, 3, "a", {"b": 2})
    with pytest.raises(TypeError):
        lazy_dataclass.replace(before, w=3)
