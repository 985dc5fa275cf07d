"""The picture: groups, drift, duplicates, missing hosts, changes, verdict and exit status."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.doctor.fleet.fleets import judge, machine, without_headers, write
from tests.doctor.machines import gpu

from dsv4_doctor.codec import dump_snapshot
from dsv4_doctor.errors import InputError
from dsv4_doctor.facts.driver import Driver
from dsv4_doctor.fleet import drift
from dsv4_doctor.fleet.documents import Document, places, read
from dsv4_doctor.fleet.earlier import read_expected, read_picture
from dsv4_doctor.fleet.judging import split
from dsv4_doctor.fleet.model import Fleet, Host
from dsv4_doctor.fleet.picture import MISSING, UNREACHED, Against, compose
from dsv4_doctor.fleet.survey import survey
from dsv4_doctor.formats import fleet_json
from dsv4_doctor.snapshot import Snapshot

NOTHING = Against()
OLD = Driver("570.86.15", "open", "570.86.15", "12.8", None)


def picture(snapshots: list[Snapshot], against: Against = NOTHING) -> Fleet:
    made = judge()
    documents = [Document("f", "f", _json(each)) for each in snapshots]
    hosts, refused = split(map(made.host, documents))
    return compose(hosts, refused, "", against)


def _json(snapshot: Snapshot) -> dict[str, object]:
    data: dict[str, object] = json.loads(dump_snapshot(snapshot))
    return data


def test_equal_failures_are_one_group_with_the_hosts() -> None:
    made = picture([machine("n1"), without_headers("n2"), without_headers("n3")])
    failed = [group for group in made.groups if group.status == "fail"]
    assert [(group.id, group.hosts) for group in failed] == [
        ("python.headers.present", ("n2", "n3"))
    ]
    assert made.summary["fail"] == 2
    assert made.healthy == ("n1",)
    assert made.sick == ("n2", "n3")
    assert made.verdict == "fail"
    assert made.exit_code() == 1


def test_one_cause_seen_in_two_ways_is_one_group_with_two_variants() -> None:
    small = tuple(replace(gpu(index), bar1=256 << 20) for index in range(2))
    smaller = tuple(replace(gpu(index), bar1=128 << 20) for index in range(2))
    made = picture(
        [machine("n1", gpus=small), machine("n2", gpus=small), machine("n3", gpus=smaller)]
    )
    [group] = [each for each in made.groups if each.id == "gpu.bar1.size"]
    assert [variant.hosts for variant in group.variants] == [("n1", "n2"), ("n3",)]
    assert group.hosts == ("n1", "n2", "n3")


def test_drift_is_what_few_hosts_have() -> None:
    made = picture([machine("n1"), machine("n2"), machine("n3", driver=OLD)])
    [driver] = [each for each in made.drift if each.fact == "driver"]
    assert (driver.expected, driver.count, driver.total) == ("580.159.04", 2, 3)
    assert [(each.value, each.hosts) for each in driver.outliers] == [("570.86.15", ("n3",))]
    assert {each.fact for each in drift.differing(made.drift)} == {"driver"}


def test_firmware_of_the_boards_drifts_too() -> None:
    old, new = (
        tuple(replace(gpu(index), vbios=f"96.00.{version}.00.01") for index in range(2))
        for version in ("A5", "B2")
    )
    made = picture([machine("n1", gpus=new), machine("n2", gpus=new), machine("n3", gpus=old)])
    [vbios] = [each for each in made.drift if each.fact == "VBIOS"]
    assert vbios.expected == "96.00.B2.00.01"
    assert [(each.value, each.hosts) for each in vbios.outliers] == [("96.00.A5.00.01", ("n3",))]


def test_a_baseline_outvotes_the_majority() -> None:
    good = drift.facts(machine("good", driver=OLD))
    made = picture([machine("n1"), machine("n2")], Against(baseline=good))
    [driver] = [each for each in made.drift if each.fact == "driver"]
    assert (driver.expected, driver.count) == ("570.86.15", 0)
    assert driver.outliers[0].hosts == ("n1", "n2")


def test_a_missing_host_is_a_failure() -> None:
    made = picture([machine("n1")], Against(expected=("n1", "n2")))
    assert made.missing == ("n2",)
    assert made.verdict == "fail"
    assert made.sick == ("n2",)
    assert [group.hosts for group in made.groups if group.id == MISSING] == [("n2",)]


def test_of_two_documents_of_a_host_the_newer_counts() -> None:
    old = Host("n1", "2026-01-01", "old.json", "fail", problem="unreachable")
    new = Host("n1", "2026-01-02", "new.json", "pass")
    for order in ([old, new], [new, old]):
        made = compose(order)
        assert made.hosts == (new,)
        assert [(each.origin, each.kept) for each in made.duplicates] == [("old.json", "new.json")]
        assert made.verdict == "pass"


def test_hosts_without_a_report_are_grouped_by_their_reason() -> None:
    hosts = [
        Host("n1", "", "a", "fail", problem="unreachable"),
        Host("n2", "", "b", "fail", problem="unreachable"),
        Host("n3", "", "c", "fail", problem="no answer within 60 s"),
    ]
    [group] = compose(hosts).groups
    assert group.id == UNREACHED
    assert [(each.found, each.hosts) for each in group.variants] == [
        ("unreachable", ("n1", "n2")),
        ("no answer within 60 s", ("n3",)),
    ]


def test_no_host_at_all_is_no_pass() -> None:
    assert compose([]).verdict == "unknown"
    assert compose([]).exit_code() == 3


def test_changes_since_an_earlier_picture(tmp_path: Path) -> None:
    before = picture([machine("n1"), without_headers("n2"), machine("n4")])
    stored = tmp_path / "before.json"
    stored.write_text(fleet_json.render(before), encoding="utf-8")
    after = picture(
        [without_headers("n1"), machine("n2"), machine("n3")],
        Against(earlier=read_picture(stored)),
    )
    assert after.changes is not None
    assert after.changes.failing == ("n1",)
    assert after.changes.recovered == ("n2",)
    assert after.changes.appeared == ("n3",)
    assert after.changes.vanished == ("n4",)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"schema": "x"}', '{"schema": "dsv4-doctor/fleet/1"}', "null"]
)
def test_an_earlier_picture_that_is_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "before.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"before\.json"):
        read_picture(path)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1\nn2 # spare\n\n# n3\n", ("n1", "n2")),
        ("n1, n2 n3", ("n1", "n2", "n3")),
        (
            '{"_meta": {"hostvars": {"n1": {}}}, "gpu": {"hosts": ["n1", "n2"]}}',
            ("n1", "n2"),
        ),
    ],
)
def test_expected_hosts(tmp_path: Path, text: str, names: tuple[str, ...]) -> None:
    path = tmp_path / "hosts"
    path.write_text(text, encoding="utf-8")
    assert read_expected(path) == names


@pytest.mark.parametrize("text", ["", "# nobody\n", "{", '{"a": 3}'])
def test_a_list_that_names_no_host_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "hosts"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="names no host"):
        read_expected(path)


def test_many_files_are_judged_side_by_side_in_order(tmp_path: Path) -> None:
    files = {f"n{number:04}.json": machine(f"n{number:04}") for number in range(0, 600, 2)}
    broken = {f"n{number:04}.json": "{" for number in range(1, 11, 2)}
    write(tmp_path, {**files, **broken})
    found = list(survey(places([str(tmp_path)]), judge()))
    hosts, refused = split(found)
    assert [host.name for host in hosts] == [name.removesuffix(".json") for name in files]
    assert len(refused) == 5
    alone = judge()
    assert found == [alone.host(each) for place in places([str(tmp_path)]) for each in read(place)]
