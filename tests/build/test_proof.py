from __future__ import annotations

from pathlib import Path

from tests.build import planning

from dsv4_build.planner import make_plan
from dsv4_build.proof import absent
from dsv4_doctor.knowledge import load

RELEASE = load.release("0.24.0")
FILES = [extension.file for extension in RELEASE.extensions if extension.file]


def _absent(tmp_path: Path, names: list[str]) -> list[str]:
    request = planning.vllm_request(planning.vllm_tree(tmp_path))
    plan = make_plan(request, planning.machine(), planning.around(tmp_path))
    return [extension.name for extension in absent(plan, names)]


def test_every_declared_module_is_there(tmp_path: Path) -> None:
    names = [file.replace("*", "312-x86_64-linux-gnu") for file in FILES]
    assert _absent(tmp_path, names) == []


def test_an_optional_module_that_was_skipped_in_silence_is_named(tmp_path: Path) -> None:
    names = [file.replace("*", "312") for file in FILES if "_flashmla_C" not in file]
    assert _absent(tmp_path, names) == ["_flashmla_C"]


def test_components_of_python_files_are_not_looked_for(tmp_path: Path) -> None:
    assert "_vllm_fa4_cutedsl_C" not in _absent(tmp_path, [])


def test_an_embedded_tree_declares_nothing(tmp_path: Path) -> None:
    assert absent(planning.plan(tmp_path), []) == ()
