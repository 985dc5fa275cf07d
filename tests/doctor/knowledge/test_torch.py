"""What the default wheel of each torch asks for."""

from __future__ import annotations

import re

from packaging.specifiers import SpecifierSet
from packaging.version import Version
from tests.doctor.knowledge.files import ROOT, read

from dsv4_doctor.knowledge import load

ROWS = read(ROOT / "torch.json")["torch"]


def test_the_versions_are_in_order_and_none_stands_twice() -> None:
    versions = [Version(each["torch"]) for each in ROWS]
    assert versions == sorted(set(versions), reverse=True)


def test_every_value_is_one_and_has_its_line() -> None:
    toolkits = {each.name for each in load.toolkit_releases()}
    for each in ROWS:
        assert set(each) == {"torch", "cuda", "triton"}
        assert each["cuda"]["value"] in toolkits
        assert len(SpecifierSet(each["triton"]["value"])) == 1
        for key in ("cuda", "triton"):
            assert re.fullmatch(r"METADATA:\d+", each[key]["at"])


def test_a_newer_torch_never_asks_for_less() -> None:
    cuda = [Version(each["cuda"]["value"]) for each in ROWS]
    triton = [Version(each["triton"]["value"].lstrip("=~")) for each in ROWS]
    assert cuda == sorted(cuda, reverse=True)
    assert triton == sorted(triton, reverse=True)


def test_the_torch_of_every_release_is_known() -> None:
    known = {each["torch"] for each in ROWS}
    assert {load.release(name).torch.value for name in load.release_names()} <= known
