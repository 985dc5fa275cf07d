"""Fields that a snapshot names as not told: a check that reads one is unknown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.doctor.machines import healthy, python_environment

from dsv4_doctor.checks.registry import Check, Context, run_checks
from dsv4_doctor.checks.untold import NotKnownError, View
from dsv4_doctor.knowledge import load
from dsv4_doctor.report import Finding, Status
from dsv4_doctor.snapshot import ProbeRun, Snapshot
from dsv4_doctor.target import Target


def without(*names: str, snapshot: Snapshot | None = None) -> Snapshot:
    made = snapshot or healthy()
    runs = tuple(ProbeRun(name, 0.0, "nobody says") for name in names)
    return replace(made, probes=(*made.probes, *runs))


def test_a_snapshot_of_a_machine_is_left_as_it_is() -> None:
    assert View(healthy()).snapshot is not None
    assert View(healthy()).snapshot == healthy()


@pytest.mark.parametrize(
    "name", ["python.headers", "python.torch.cuda", "toolkits.found.nvcc_version", "driver.nvml"]
)
def test_reading_a_field_that_is_not_told_raises(name: str) -> None:
    snapshot = View(without(name)).snapshot
    *above, last = name.split(".")
    value: object = snapshot
    for part in above:
        value = getattr(value, part)
        value = value[0] if isinstance(value, tuple) else value
    with pytest.raises(NotKnownError, match="nobody says"):
        getattr(value, last)


def test_properties_of_the_section_see_it_too() -> None:
    toolkits = View(without("toolkits.found.nvcc_version")).snapshot.toolkits
    assert toolkits is not None
    with pytest.raises(NotKnownError):
        _ = toolkits.found[0].release


def test_fields_beside_it_can_be_read() -> None:
    snapshot = View(without("python.headers")).snapshot
    assert snapshot.python is not None
    assert snapshot.python.version == "3.12.3"
    assert snapshot.gpus == healthy().gpus


def test_a_package_that_is_not_listed_may_be_there() -> None:
    view = View(without("python.distributions"))
    python = view.snapshot.python
    assert python is not None
    torch = python.distribution("torch")
    assert torch is not None
    assert torch.version == "2.11.0"
    with pytest.raises(NotKnownError, match="no vllm there"):
        python.distribution("vllm")
    assert view.incomplete == {}
    assert {"torch", "triton"} <= {each.name for each in python.distributions}
    assert view.incomplete == {"python.distributions": "nobody says"}


def test_an_empty_list_that_is_not_told_raises() -> None:
    python = python_environment(distributions=())
    snapshot = View(without("python.distributions", snapshot=healthy(python=python))).snapshot
    assert snapshot.python is not None
    with pytest.raises(NotKnownError):
        _ = snapshot.python.distributions


def finding(status: Status, context: Context) -> Iterator[Finding]:
    environment = context.snapshot.environment or {}
    yield Finding("a.b.c", status, f"{len(environment)} variables")


@pytest.mark.parametrize(
    ("status", "seen"),
    [("pass", "unknown"), ("skip", "unknown"), ("warn", "warn"), ("fail", "fail")],
)
def test_what_passes_on_a_part_of_a_list_is_unknown(status: Status, seen: Status) -> None:
    def rule(context: Context) -> Iterator[Finding]:
        yield from finding(status, context)

    check = Check("a.b.c", "variables", rule)
    release = load.release("0.24.0")
    for snapshot, expected in ((healthy(), status), (without("environment"), seen)):
        (result,) = run_checks(Context(snapshot, Target("0.24.0"), release), [check])
        assert result.status == expected
    assert "nobody says" in str(result.evidence) or status == expected


def test_the_next_check_starts_anew() -> None:
    def reads(context: Context) -> Iterator[Finding]:
        yield from finding("pass", context)

    def reads_not(_context: Context) -> Iterator[Finding]:
        yield Finding("a.b.d", "pass", "nothing")

    checks = [Check("a.b.c", "", reads), Check("a.b.d", "", reads_not)]
    context = Context(without("environment"), Target("0.24.0"), load.release("0.24.0"))
    assert [each.status for each in run_checks(context, checks)] == ["unknown", "pass"]
