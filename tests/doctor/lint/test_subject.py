"""A release, or a source tree that says itself what it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.doctor.knowledge.extract import serve_tree, trees

from dsv4_doctor.errors import DoctorError
from dsv4_doctor.knowledge import load
from dsv4_doctor.lint import documents
from dsv4_doctor.lint.linting import judge
from dsv4_doctor.lint.subject import against

if TYPE_CHECKING:
    from pathlib import Path


def test_a_tree_says_itself_what_it_takes(tmp_path: Path) -> None:
    own = {name: text for name, text in serve_tree.FILES.items() if name.startswith("vllm/")}
    main = '"VLLM_MAIN_CUDA_VERSION": lambda: os.getenv("VLLM_MAIN_CUDA_VERSION", "13.0"),\n'
    table = "environment_variables: dict[str, Callable] = {\n"
    own["vllm/envs.py"] = own["vllm/envs.py"].replace(table, table + main)
    path = trees.sdist(tmp_path / "vllm.tar.gz", **own)
    held, notes = against(str(path))
    assert notes[0] == f"what vLLM {held.release} needs was read from {path}"
    text = (
        "VLLM_MODE=fst VLLM_USE_V1=1 vllm serve deepseek-ai/DeepSeek-V4-Flash"
        " --level loud --old-way --enforce-eager --num-gpu-blocks-override 3"
    )
    (found,) = documents.of_arguments([text])
    said = [(each.id, each.subject) for each in judge(found, held).problems]
    assert ("lint.flag.value", "--level") in said
    assert ("lint.flag.ignored", "--old-way") in said
    assert ("lint.flag.removed", "--num-gpu-blocks-override") in said
    assert ("lint.variable.dropped", "VLLM_USE_V1") in said
    # A name that no known release has is the tree's own business: its table knows it.
    assert not any(subject == "VLLM_MODE" and "unknown" in name for name, subject in said)


def test_a_release_is_that_release() -> None:
    held, notes = against("v0.24.0")
    assert (held.release, notes, held.tree) == ("0.24.0", (), None)
    assert held.position == load.flag_releases().index("0.24.0")


@pytest.mark.parametrize("text", ["9.9.9", "./none", "none.tar.gz"])
def test_what_is_neither(text: str) -> None:
    with pytest.raises(DoctorError):
        against(text)
