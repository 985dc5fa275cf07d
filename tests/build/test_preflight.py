from __future__ import annotations

import pytest

from dsv4_build import preflight
from dsv4_build.recipe import recipe
from dsv4_doctor.errors import BuildError, UsageError
from dsv4_doctor.report import Command, Finding, Remedy, Report, Status
from dsv4_doctor.target import Target

SMOKE = recipe("smoke")


def _finding(identifier: str, status: Status = "fail") -> Finding:
    remedy = Remedy("install it", (Command(("apt-get", "install", "it"), root=True),))
    return Finding(identifier, status, f"{identifier} title", "this", "that", remedy=remedy)


def _report(*findings: Finding) -> Report:
    return Report("0", "host", "now", Target("0.24.0"), findings)


def test_nothing_failing_goes_on() -> None:
    report = _report(_finding("arch.toolkit.compiles", "pass"), _finding("cuda.toolkit.x", "warn"))
    assert preflight.judge(report, SMOKE, ()) == ()


def test_a_failing_check_stops_with_its_remedy() -> None:
    with pytest.raises(BuildError, match="1 check failed, nothing was built") as caught:
        preflight.judge(_report(_finding("python.headers.present")), SMOKE, ())
    assert "sudo apt-get install it" in str(caught.value)
    assert "--force python.headers.present" in caught.value.hint


def test_what_the_recipe_does_not_need_does_not_stop_it() -> None:
    findings = [_finding("torch.build.present"), _finding("gpu.device.present")]
    assert preflight.judge(_report(*findings), SMOKE, ()) == ()


def test_forcing_overrides_that_check_alone() -> None:
    findings = [_finding("python.headers.present"), _finding("arch.toolkit.compiles")]
    with pytest.raises(BuildError) as caught:
        preflight.judge(_report(*findings), SMOKE, ("python.headers.present",))
    assert "python.headers.present" not in str(caught.value)
    forced = preflight.judge(
        _report(*findings), SMOKE, ("python.headers.present", "arch.toolkit.compiles")
    )
    assert [finding.id for finding in forced] == [
        "python.headers.present",
        "arch.toolkit.compiles",
    ]


def test_forcing_what_does_not_exist_is_a_mistake() -> None:
    with pytest.raises(UsageError, match=r"failing: python\.headers\.present"):
        preflight.judge(_report(_finding("python.headers.present")), SMOKE, ("python.header",))


@pytest.mark.parametrize(
    "identifier", ["build.room.disk", "build.room.memory", "gpu.device.present"]
)
def test_what_was_forced_may_be_cured_or_done_by_the_next_run(identifier: str) -> None:
    passed = _report(_finding("arch.toolkit.compiles", "pass"))
    assert preflight.judge(passed, SMOKE, (identifier,)) == ()
