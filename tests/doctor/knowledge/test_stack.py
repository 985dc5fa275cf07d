"""What is known of the software around vLLM."""

from __future__ import annotations

import re

import pytest
from packaging.requirements import Requirement
from tests.doctor.knowledge.files import ROOT, read

from dsv4_doctor.arch import Arch
from dsv4_doctor.knowledge import load, stack

KEYS = {
    "what", "at", "releases", "package", "versions", "majors", "archs", "nvcc", "features", "gpu",
    "names", "do", "env",
}  # fmt: skip


def test_no_key_that_nobody_reads() -> None:
    data = read(ROOT / "stack.json")
    for section in set(data) - {"schema"}:
        for each in data[section]:
            assert set(each) <= KEYS, section


@pytest.mark.parametrize("release", load.release_names())
def test_every_known_release_has_its_rows(release: str) -> None:
    build = stack.build_requirements(release)
    assert build is not None
    assert {Requirement(each).name for each in build.names} >= {"setuptools", "wheel"}
    wheel = stack.wheel_glibc(release)
    assert wheel is not None
    assert all(each.startswith("manylinux") for each in wheel.names)
    assert stack.fa3_gpus(release) is not None


def test_rows_of_a_release_do_not_overlap() -> None:
    for section in ("build_requires", "wheels", "fa3"):
        for release in load.release_names():
            known = [stack.parse(each) for each in read(ROOT / "stack.json")[section]]
            assert sum(each.is_for(release) for each in known) == 1, (section, release)


def test_rules_by_name() -> None:
    names = [each["names"][0] for each in read(ROOT / "stack.json")["rules"]]
    assert len(names) == len(set(names))
    for name in names:
        assert stack.rule(name).source.requirement
    with pytest.raises(KeyError):
        stack.rule("no.such")


def test_an_unknown_release_has_none() -> None:
    assert stack.build_requirements("9.9.9") is None
    assert stack.wheel_glibc("9.9.9") is None


def test_values_can_be_read() -> None:
    for each in (*stack.jit_minimums(), *stack.reports()):
        assert all(Arch.parse(arch) for arch in each.archs)
        assert each.do
        re.compile(each.gpu)
    features = set(load.project().feature_titles)
    assert all(set(each.features) <= features for each in stack.reports())


def test_the_releases_of_setuptools_rust_are_those_with_rust() -> None:
    def has(release: str) -> bool:
        known = stack.build_requirements(release)
        return known is not None and any("rust" in each for each in known.names)

    assert [has(each) for each in ("0.7.2", "0.21.0", "0.22.0", "0.33.0")] == [
        False,
        False,
        True,
        True,
    ]
