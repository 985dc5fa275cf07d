"""The JSON of an inspection and of a difference, against the schemas in the package."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.doctor.binary.builders import FIXTURES, PTX, Entry, Part, Wheel, container, elf, kernels
from tests.doctor.binary.linking import Want, shared

from dsv4_doctor.cli.main import run

EVERYTHING = ["--kernels", "--by-arch", "--by-family", "--linkage", "--gpu", "9.0"]
EVERYTHING += ["--require", "fa3,sm_80,torch==2.11,glibc<=2.28"]


def schema(name: str) -> dict[str, Any]:
    text = files("dsv4_doctor").joinpath("schemas").joinpath(name).read_text(encoding="utf-8")
    content: dict[str, Any] = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(content)
    return content


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    images = container(kernels("sm_80", "f"), Entry("sm_90", kind=PTX), Entry(payload=b"bad"))
    more = [Part(".nv_fatbin", images)]
    wanted = ("_ZN3c105ErrorC2ESs", "PyLong_AsLong", Want("f", "libc.so.6", "GLIBC_2.34"))
    (tmp_path / "_C.abi3.so").write_bytes(shared(*wanted, needed=("libcudart.so.12",), more=more))
    (tmp_path / "b.so").write_bytes(shared(needed=("libcudart.so.13",)))
    (tmp_path / "broken.so").write_bytes(elf()[:70])
    return tmp_path


@pytest.mark.parametrize("options", [[], EVERYTHING])
@pytest.mark.parametrize("real", [False, True])
def test_inspection(
    folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], real: bool
) -> None:
    run(["inspect", str(FIXTURES if real else folder), *options, "--format", "json"])
    document = json.loads(capsys.readouterr().out)
    assert document["objects"]
    found = schema("inspection-1.json")
    jsonschema.validate(document, found)
    assert set(document) <= set(found["properties"])
    for wrong in ({**document, "schema": "x"}, {**document, "objects": [{"name": 3}]}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, found)


def test_difference(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "new.whl").write_bytes(Wheel(members={"b.so": b"other"}).data())
    assert run(["inspect", "--diff", str(folder), str(folder / "new.whl"), "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    found = schema("inspection-diff-1.json")
    jsonschema.validate(document, found)
    assert set(document) == set(found["properties"])


def test_difference_with_causes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    members = {
        name: {"a.so": elf(Part(".text", name.encode()), Part(".comment", comment))}
        for name, comment in (("old", b"GCC: (GNU) 12.2.0"), ("new", b"GCC: (GNU) 13.1.0"))
    }
    paths = [tmp_path / "old.whl", tmp_path / "new.whl"]
    for path in paths:
        path.write_bytes(Wheel(members=members[path.stem]).data())
    assert run(["inspect", "--diff", *map(str, paths), "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, schema("inspection-diff-1.json"))
    (file,) = document["files"]
    assert [each["kind"] for each in file["causes"]] == ["compiler"]
    assert file["unexplained"] == [".text"]
