from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from tests.build.handover import made

from dsv4_build.handover import sbom
from dsv4_build.handover.materials import Material

EPOCH = 1_700_000_000


def _render(tmp_path: Path, materials: tuple[Material, ...] = made.MATERIALS) -> bytes:
    return sbom.render(made.plan(tmp_path), made.WHEEL, materials, EPOCH)


CRATE = Material("crate", "memchr", "2.7.4", "pkg:cargo/memchr@2.7.4", ("sha256", "d" * 64))


def _content(tmp_path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_render(tmp_path))
    return found


def test_it_is_cyclonedx(tmp_path: Path) -> None:
    validator = JsonStrictValidator(SchemaVersion.V1_6)
    text = _render(tmp_path, (*made.MATERIALS, CRATE)).decode()
    assert validator.validate_str(text) is None
    broken = json.dumps({**json.loads(text), "components": [{"name": "no type"}]})
    assert validator.validate_str(broken) is not None


def test_sources_are_components_and_tools_are_how_it_was_made(tmp_path: Path) -> None:
    content = _content(tmp_path)
    assert [each["name"] for each in content["components"]] == [
        "vllm",
        "vllm-flash-attn",
        "vllm-flash-attn/csrc/cutlass",
    ]
    assert content["components"][0]["hashes"] == [{"alg": "SHA-256", "content": "a" * 64}]
    (made_with,) = content["formulation"]
    assert [each["name"] for each in made_with["components"]] == ["cuda/bin/nvcc", "torch"]


def test_the_wheel_itself_is_named_with_its_local_version(tmp_path: Path) -> None:
    component = _content(tmp_path)["metadata"]["component"]
    assert component["purl"] == "pkg:pypi/vllm@0.24.0%2Bcu130.sm90"
    assert component["version"] == "0.24.0+cu130.sm90"


def test_a_submodule_depends_from_its_project(tmp_path: Path) -> None:
    edges = {each["ref"]: each["dependsOn"] for each in _content(tmp_path)["dependencies"]}
    assert edges[made.TREE.purl] == [made.PROJECT.purl]
    assert edges[made.PROJECT.purl] == [f"{made.MODULE.purl}#{made.MODULE.name}"]
    assert edges["pkg:pypi/vllm@0.24.0%2Bcu130.sm90"] == [made.TREE.purl]


def test_equal_inputs_give_equal_bytes_and_others_another_serial_number(tmp_path: Path) -> None:
    first = _render(tmp_path / "a")
    assert first == _render(tmp_path / "b")
    newer = replace(made.NVCC, version="13.1.80")
    other = _render(tmp_path / "c", (*made.MATERIALS[:3], newer, made.TORCH))
    assert json.loads(first)["serialNumber"] != json.loads(other)["serialNumber"]


def test_nothing_in_it_names_this_machine(tmp_path: Path) -> None:
    text = _render(tmp_path).decode()
    assert str(tmp_path) not in text
    assert str(Path.home()) not in text
