from __future__ import annotations

import json
from pathlib import Path

import pytest

from dsv4_build import publish
from dsv4_build.handover import sums
from dsv4_doctor.errors import BuildError, UsageError


def test_every_file_keeps_its_place_below_the_result(tmp_path: Path) -> None:
    result = tmp_path / "result"
    (result / "_C").mkdir(parents=True)
    (result / "_C" / "a.cu.o").write_bytes(b"object")
    (result / "b.so").write_bytes(b"module")
    made = publish.publish(result, tmp_path / "out")
    assert [each.name for each in made] == ["_C/a.cu.o", "b.so"]
    assert Path(made[0].path).read_bytes() == b"object"
    assert made[1].size == 6
    assert made[1].sha256 == publish.sha256(result / "b.so")


def test_what_is_there_is_handed_over_again_and_what_differs_replaced(tmp_path: Path) -> None:
    result, out = tmp_path / "result", tmp_path / "out"
    result.mkdir()
    for name in ("same", "other"):
        (result / name).write_bytes(b"module")
    first = publish.publish(result, out)
    untouched = (out / "same").stat()
    (out / "other").write_bytes(b"nodule")
    (out / ".other.a1b2c3_4").write_bytes(b"mod")
    (out / ".other.conf").write_bytes(b"the user's")
    assert publish.publish(result, out) == first
    assert (out / "same").stat() == untouched
    assert (out / "other").read_bytes() == b"module"
    names = sorted(each.name for each in out.iterdir())
    assert names == [".other.conf", sums.NAME, "other", "same"]


def test_the_report_lies_beside_them(tmp_path: Path) -> None:
    publish.report({"a": 1}, tmp_path)
    assert json.loads((tmp_path / publish.REPORT).read_text()) == {"a": 1}


def test_an_output_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "result").mkdir()
    (tmp_path / "result" / "a").touch()
    with pytest.raises(BuildError, match="cannot be written") as caught:
        publish.publish(tmp_path / "result", tmp_path / "file" / "out")
    assert str(tmp_path / "result") in caught.value.hint
    with pytest.raises(BuildError, match="cannot be written"):
        publish.report({}, tmp_path / "file" / "out")


def test_a_place_that_can_be_written_is_left_as_it_was(tmp_path: Path) -> None:
    publish.require_place(tmp_path / "new" / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_place_that_cannot_be_written_is_refused_before_the_build(
    tmp_path: Path, place: str
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"--out .*: cannot be written"):
        publish.require_place(tmp_path / place)
