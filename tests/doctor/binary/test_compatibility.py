"""Which GPU runs which code: torch's table, ptxas's table, and the four known wrong answers."""

from __future__ import annotations

import pytest

from dsv4_doctor.arch import Arch
from dsv4_doctor.binary.compatibility import ptx_runs_on, runs_on, sass_runs_on
from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.gpu_archs import gpu_archs

# torch 2.11.0, torch/cuda/__init__.py:291, DEVICE_REQUIREMENT: the first device of the interval
# that runs the code, and the devices in it that do not; or all devices that do.
TORCH_INTERVALS = {
    50: {53},
    52: {53},
    60: {62},
    61: {62},
    70: {72},
    75: set(),
    80: {87},
    86: {87},
    89: set(),
    90: set(),
    100: {101},
    103: set(),
    110: set(),
    120: set(),
    121: set(),
}
TORCH_SETS = {53: {53}, 62: {62}, 72: {72}, 87: {87}, 101: {101, 110}}

# For which -arch ptxas 13.0.88 accepts each .target, asked of it one by one.
PLAIN = (75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121)
PTXAS_SUFFIXED = {
    "90a": {90},
    "100a": {100},
    "103a": {103},
    "110a": {110},
    "120a": {120},
    "121a": {121},
    "100f": {100, 103},
    "103f": {103},
    "110f": {110},
    "120f": {120, 121},
    "121f": {121},
}


def sm(*names: str) -> tuple[Arch, ...]:
    return tuple(map(Arch.parse, names))


def test_machine_code_as_torch_has_it() -> None:
    devices = {arch.number for arch in gpu_archs()}
    for code, excluded in TORCH_INTERVALS.items():
        theirs = {n for n in devices if n // 10 == code // 10 and n >= code} - excluded
        assert {n for n in devices if sass_runs_on(Arch(n), Arch(code))} == theirs, code
    for code, theirs in TORCH_SETS.items():
        assert {n for n in devices if sass_runs_on(Arch(n), Arch(code))} == theirs, code


def test_ptx_as_ptxas_has_it() -> None:
    for code in PLAIN:
        assert {n for n in PLAIN if ptx_runs_on(Arch(n), Arch(code))} == {
            n for n in PLAIN if n >= code
        }
    for name, theirs in PTXAS_SUFFIXED.items():
        assert {n for n in PLAIN if ptx_runs_on(Arch(n), Arch.parse(name))} == theirs, name


@pytest.mark.parametrize(
    ("gpu", "sass", "ptx", "runs"),
    [
        ("sm_89", "sm_80", "", True),
        ("sm_121", "sm_120", "", True),
        ("sm_120", "", "compute_90a", False),
        ("sm_120", "", "compute_100f", False),
    ],
)
def test_what_other_tools_get_wrong(gpu: str, sass: str, ptx: str, runs: bool) -> None:
    verdict = runs_on(Arch.parse(gpu), sm(*sass.split()), sm(*ptx.split()))
    assert verdict.runs is runs


@pytest.mark.parametrize(
    ("code", "devices"),
    [
        ("sm_90a", {90}),
        ("sm_100a", {100}),
        ("sm_120a", {120}),
        ("sm_100f", {100, 103, 107}),
        ("sm_103f", {103, 107}),
        ("sm_120f", {120, 121}),
        ("sm_121f", {121}),
        ("sm_110f", {110}),
        ("sm_101f", {101, 110}),
        ("sm_101a", {101, 110}),
    ],
)
def test_suffixed_machine_code(code: str, devices: set[int]) -> None:
    assert {a.number for a in gpu_archs() if sass_runs_on(a, Arch.parse(code))} == devices


def test_machine_code_is_preferred_and_named() -> None:
    verdict = runs_on(Arch(90), sm("sm_80", "sm_90", "sm_90a"), sm("compute_80"))
    assert (verdict.how, verdict.arch) == ("sass", Arch(90, "a"))
    assert "sm_90a machine code runs on 9.0" in verdict.reason


def test_ptx_needs_a_driver_that_knows_its_isa() -> None:
    code = sm("compute_80", "compute_86")
    isa = {Arch(80): "8.1", Arch(86): "9.0"}
    new = runs_on(Arch(90), (), code, ptx_isa=isa, driver_isa="9.0")
    middle = runs_on(Arch(90), (), code, ptx_isa=isa, driver_isa="8.4")
    old = runs_on(Arch(90), (), code, ptx_isa=isa, driver_isa="8.0")
    unknown = runs_on(Arch(90), (), code, ptx_isa=isa)
    assert [each.arch for each in (new, middle, old, unknown)] == [
        Arch(86),
        Arch(80),
        None,
        Arch(86),
    ]
    assert not old.runs
    assert "ISA 9.0" in old.reason
    assert "ISA 8.0 at most" in old.reason
    # As numbers: 8.10 is newer than 8.9.
    assert runs_on(Arch(90), (), sm("80"), ptx_isa={Arch(80): "8.9"}, driver_isa="8.10").runs


@pytest.mark.parametrize(
    ("gpu", "sass", "ptx", "reason"),
    [
        ("sm_90", "", "", "no device code at all"),
        ("sm_80", "sm_90a", "", "sm_90a runs on 9.0 only"),
        ("sm_87", "sm_80", "", "not guaranteed to run between integrated and discrete"),
        ("sm_80", "sm_86", "", "sm_86 runs on 8.x from 8.6 up"),
        ("sm_120", "sm_100f", "", "in the family of 10.0"),
        ("sm_80", "", "compute_90", "compute_90 PTX is for 9.0 and newer"),
        ("sm_120", "", "compute_100f", "family of 10.0"),
        ("sm_120", "", "compute_90a", "for 9.0 only"),
    ],
)
def test_reason_why_not(gpu: str, sass: str, ptx: str, reason: str) -> None:
    verdict = runs_on(Arch.parse(gpu), sm(*sass.split()), sm(*ptx.split()))
    assert (verdict.runs, verdict.how, verdict.arch) == (False, "none", None)
    assert reason in verdict.reason


def test_suffix_of_the_gpu_says_nothing() -> None:
    assert sass_runs_on(Arch(90, "a"), Arch(90))
    assert ptx_runs_on(Arch(90, "a"), Arch(90, "a"))


def test_gpu_that_is_not_known_yet_obeys_the_general_rule() -> None:
    assert sass_runs_on(Arch(132), Arch(130))
    assert not sass_runs_on(Arch(130), Arch(120, "f"))
    assert ptx_runs_on(Arch(130), Arch(120))


def test_architectures_are_listed_in_order_with_their_places() -> None:
    archs = tuple(gpu_archs())
    assert archs == tuple(sorted(archs)) == load.known_archs()
    assert all(not arch.suffix for arch in archs)
    assert all(each.place.file for each in gpu_archs().values())
    assert "H200" in gpu_archs()[Arch(90)].products
    for each in gpu_archs().values():
        assert each.family is None or each.family.major == each.arch.major or each.renamed
