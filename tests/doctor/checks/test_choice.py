"""``--select`` and ``--ignore``: what runs, what is shown, and names that do not exist."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.machines import failed, healthy

from dsv4_doctor.checks.choice import Choice, find, left_out, parse
from dsv4_doctor.checks.registry import Check, Context, all_checks, run_checks
from dsv4_doctor.errors import UsageError
from dsv4_doctor.knowledge import load
from dsv4_doctor.report import Finding
from dsv4_doctor.snapshot import Snapshot
from dsv4_doctor.target import Target

TARGET = Target("0.24.0", ("sm_90",), ("fa3", "deepseek-v4"))
IDS = sorted({name for each in all_checks() for name in (each.id, *each.findings)})


def ids(choice: Choice, snapshot: Snapshot | None = None) -> list[str]:
    context = Context(snapshot or healthy(), TARGET, load.release("0.24.0"))
    return [each.id for each in run_checks(context, choice=choice)]


def chosen(select: Iterable[str] = (), ignore: Iterable[str] = ()) -> Choice:
    return parse(tuple(select), tuple(ignore), all_checks())


def test_one_check() -> None:
    assert ids(chosen(["cuda.toolkit.present"])) == ["cuda.toolkit.present"]


def test_a_glob_and_commas() -> None:
    found = ids(chosen(["gpu.bar*, driver.nvidia.present"]))
    assert found == ["driver.nvidia.present", "gpu.bar1.size"]


def test_one_finding_of_a_check_that_gives_several() -> None:
    assert ids(chosen(["build.tools.ninja"])) == ["build.tools.ninja"]
    assert "build.tools.ninja" not in ids(chosen([], ["build.tools.ninja"]))
    assert "build.tools.cmake" in ids(chosen([], ["build.tools.ninja"]))


def test_the_id_of_a_check_means_all_its_findings() -> None:
    assert ids(chosen(["build.tools.present"])) == [
        "build.tools.cmake",
        "build.tools.ninja",
        "build.tools.git",
    ]
    left = ids(chosen([], ["feature.target.available"]))
    assert not [name for name in left if name.startswith("feature.")]


def test_ignoring_is_stronger() -> None:
    assert ids(chosen(["gpu.bar1.*", "cuda.home.set"], ["gpu.bar?.*"])) == ["cuda.home.set"]


def test_what_could_not_be_told_is_not_lost_by_a_selection() -> None:
    broken = failed(healthy(), "build_tools", "it hangs")
    assert ids(chosen(["build.tools.ninja"]), broken) == ["build.tools.present"]
    assert ids(chosen(["build.tools.present"], ["build.tools.*"]), broken) == []


def test_an_ignored_check_is_not_run() -> None:
    def rule(context: Context) -> Iterable[Finding]:
        raise AssertionError

    check = Check("a.b.c", "x", rule)
    context = Context(healthy(), TARGET, load.release("0.24.0"))
    assert run_checks(context, [check], Choice(ignore=("a.*",))) == ()
    assert run_checks(context, [check], Choice(select=("d.*",))) == ()
    with pytest.raises(AssertionError):
        run_checks(context, [check], Choice())


@pytest.mark.parametrize("option", ["select", "ignore"])
def test_a_name_that_does_not_exist_is_refused_with_near_ones(option: str) -> None:
    with pytest.raises(UsageError, match=r"cuda\.home\.symlnk.*near: cuda\.home\.symlink"):
        chosen(**{option: ["cuda.home.symlnk"]})
    with pytest.raises(UsageError, match=r"nothing\.\*: no check has this id"):
        chosen(**{option: ["nothing.*"]})


def test_a_check_is_found_by_the_id_of_a_finding() -> None:
    assert find("build.tools.git", all_checks()).id == "build.tools.present"
    assert find("feature.fa3.arch", all_checks()).id == "feature.target.available"
    with pytest.raises(UsageError, match=r"near: build\.tools\.git"):
        find("build.tool.git", all_checks())


def test_what_is_left_out_is_said() -> None:
    notes = left_out(chosen(["gpu.bar1.*", "build.tools.git"], ["build.tools.git"]), all_checks())
    assert notes == (
        f"--select gpu.bar1.*, build.tools.git: 2 of {len(all_checks())} checks were asked for",
        "left out by --ignore: build.tools.git",
    )
    assert left_out(chosen(), all_checks()) == ()


@given(st.lists(st.sampled_from(IDS), max_size=4), st.lists(st.sampled_from(IDS), max_size=4))
def test_a_choice_gives_a_part_of_the_report_in_its_order(
    select: list[str], ignore: list[str]
) -> None:
    whole, part = ids(Choice()), ids(chosen(select, ignore))
    rest = iter(whole)
    assert all(name in rest for name in part)
    assert not set(part) & set(ignore)


@given(st.text(max_size=12))
def test_any_text_is_a_pattern_or_a_usage_error(text: str) -> None:
    try:
        choice = chosen([text])
    except UsageError:
        return
    assert any(choice.runs(each) for each in all_checks())
