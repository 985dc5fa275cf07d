"""What is known of starting models."""

from __future__ import annotations

import string
from dataclasses import fields

import pytest
from packaging.version import Version
from tests.doctor.knowledge.files import ROOT, places, read

from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.launch import (
    Accounting,
    Advice,
    Architecture,
    accounting,
    advice,
    architectures,
    batch,
    cost,
    first_release,
)
from dsv4_doctor.knowledge.models import family

DATA = read(ROOT / "launch.json")
GIB = 1 << 30


def keys(kind: type) -> set[str]:
    return {field.name for field in fields(kind)} - {"place"} | {"at"}


def test_the_file_has_no_key_that_nobody_reads() -> None:
    assert set(DATA) == {
        "schema", "release", "first", "architectures", "accounting", "batch", "networks", "costs",
        "reasons", "advice", "read_ahead",
    }  # fmt: skip
    for each in DATA["architectures"]:
        assert set(each) <= keys(Architecture)
    for each in DATA["accounting"]:
        assert set(each) == keys(Accounting) | {"from"}
    for each in DATA["batch"]:
        assert set(each) == {"from", "sizes", "at"}
    for each in DATA["advice"]:
        assert set(each) == keys(Advice)
    for each in [*DATA["reasons"].values(), *DATA["costs"].values(), *DATA["networks"].values()]:
        assert len(each) == 2


def test_everything_has_a_source() -> None:
    found = list(places(DATA))
    assert len(found) > 60
    for trail, place in found:
        if isinstance(place, str):
            assert place.rpartition(":")[2].isdecimal(), trail
        else:
            assert place.get("line") or place["file"].startswith(("https://", "docs/")), trail


def test_rules_stand_oldest_first_and_begin_with_the_first_release() -> None:
    for table in (DATA["accounting"], DATA["batch"]):
        order = [Version(each["from"]) for each in table]
        assert order == sorted(set(order))
        assert table[0]["from"] == first_release()
    assert first_release() in load.release_names()


@pytest.mark.parametrize(
    ("release", "pool", "in_flight"),
    [("0.20.2", "tuples", 1), ("0.25.1", "buckets", 1), ("0.26.0", "buckets", 2)],
)
def test_how_a_release_counts(release: str, pool: str, in_flight: int) -> None:
    found = accounting(release)
    assert (found.pool, found.in_flight) == (pool, in_flight)


@pytest.mark.parametrize(
    ("release", "gib", "tokens"),
    [("0.24.0", 178, 8192), ("0.28.0", 178, 16384), ("0.33.0", 140, 8192), ("0.33.0", 48, 2048)],
)
def test_what_a_server_schedules(release: str, gib: int, tokens: int) -> None:
    assert batch(release, gib * GIB).tokens == tokens
    assert batch(release, gib * GIB, small=True).tokens == 2048


def test_the_registry_has_the_architectures() -> None:
    assert len({each.name for each in architectures().values()}) == len(DATA["architectures"])
    for each in architectures().values():
        assert bool(each.attention) != bool(each.why)
        assert each.first in load.release_names()
    for model in family().checkpoints:
        assert model.architecture in architectures()


def test_reasons_name_only_facts_that_are_given() -> None:
    named = {
        field
        for each in DATA["reasons"].values()
        for _, field, _, _ in string.Formatter().parse(each["text"])
        if field
    }
    assert named <= {
        "gpus",
        "copies",
        "experts",
        "limit",
        "default",
        "draft",
        "filesystem",
        "precision",
    }


def test_every_recommendation_of_the_articles_has_an_entry() -> None:
    assert {each.id for each in advice()} == {
        "block-size", "enforce-eager", "parallel-loading", "utilization", "prefix-warmup",
        "shared-gpu", "priority", "log-on-error", "swap-models",
    }  # fmt: skip
    newest = load.flag_releases()[-1]
    for each in advice():
        assert all(load.flags()[flag].says(newest) is not None for flag in each.flags)


def test_costs_are_positive() -> None:
    assert all(cost(name) > 0 for name in DATA["costs"])
