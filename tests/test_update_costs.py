from __future__ import annotations

import json
from pathlib import Path

import pytest

import update_costs
from dsv4_build.schedule import costs
from dsv4_build.schedule.curve import FLAT
from dsv4_build.schedule.learned import Record, write


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copy = tmp_path / "knowledge.json"
    copy.write_text(update_costs.FILE.read_text())
    monkeypatch.setattr(update_costs, "FILE", copy)
    return copy


def _run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["update_costs.py", *arguments])
    return update_costs.main()


def test_with_nothing_new_the_units_stay(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = json.loads(file.read_text())
    assert _run(monkeypatch) == 0
    after = json.loads(file.read_text())
    assert after["units"] == before["units"]
    assert after["source"] == before["source"]
    text = file.read_text()
    assert _run(monkeypatch) == 0
    assert file.read_text() == text


def test_what_a_build_learned_becomes_knowledge(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = tmp_path / "schedule-costs.json"
    write(new, {"_vllm_fa3_C:hopper/instantiations/new.cu": Record(50.0, 5 << 30, FLAT)})
    assert _run(monkeypatch, str(new), "--measured", "on a bench", "--scale", "2") == 0
    known = costs.parse(json.loads(file.read_text()))
    cost = known.units["_vllm_fa3_C:hopper/instantiations/new.cu"]
    assert (cost.family, cost.seconds, cost.peak) == ("fa3", 100.0, 5 << 30)
    assert known.source.endswith("; on a bench")


def test_what_the_measuring_tool_wrote_becomes_knowledge(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = tmp_path / "costs.json"
    record = {"object": "CMakeFiles/_C.dir/csrc/moe/n.cu.o", "seconds": 3.0, "peak": 9}
    new.write_text(json.dumps([{**record, "curve": [50, 100]}]))
    assert _run(monkeypatch, str(new), "--measured", "here") == 0
    cost = costs.parse(json.loads(file.read_text())).units["_C:csrc/moe/n.cu"]
    assert (cost.family, cost.seconds, cost.curve.at(0.1)) == ("moe", 3.0, 0.5)


def test_a_family_is_split_by_a_pattern_before_it(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = json.loads(file.read_text())
    part = "_vllm_fa3_C:hopper/instantiations/"
    some = sorted(name for name in before["units"] if name.startswith(part))[:2]
    stems = "|".join(name.removeprefix(part).removesuffix(".cu") for name in some)
    pattern = rf"/instantiations/(?:{stems})\.cu\.o$"
    new = {"pattern": pattern, "curve": before["families"]["fa3"]["curve"]}
    file.write_text(json.dumps({**before, "families": {"some": new, **before["families"]}}))
    assert _run(monkeypatch) == 0
    after = json.loads(file.read_text())
    assert [name for name, unit in after["units"].items() if unit["family"] == "some"] == some
    assert after["families"]["some"]["units"] == 2
    assert after["families"]["fa3"]["units"] == before["families"]["fa3"]["units"] - 2
    peaks = [after["units"][name]["peak"] for name in some]
    assert after["families"]["some"]["peak"] == sum(peaks) // 2
    assert costs.parse(after).units[some[0]].family == "some"


def test_files_need_their_source(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = file.read_text()
    with pytest.raises(SystemExit):
        _run(monkeypatch, "some.json")
    assert file.read_text() == before
