"""A source tree as the vLLM that serves."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.doctor.knowledge.extract import serve_tree, trees
from tests.doctor.launch.configs import LLAMA_8B, machine, source

from dsv4_doctor.errors import UsageError
from dsv4_doctor.knowledge import launch as knowledge
from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.models import checkpoint
from dsv4_doctor.launch.planning import plan
from dsv4_doctor.launch.serving import default, serving


def test_a_release_has_its_own_flags() -> None:
    found = serving("v0.33.0")
    assert found.release.name == "0.33.0"
    assert "--block-size" in found.flags
    assert found.notes == ()
    with pytest.raises(UsageError, match="unknown vLLM release"):
        serving("9.9.9")


def test_the_default_gives_way_to_a_model_that_it_does_not_serve() -> None:
    assert default(None).release.name == load.default_release().name
    assert default(checkpoint("DeepSeek-V4-Flash").vllm).release.name == "0.24.0"
    newer = default(checkpoint("DeepSeek-V4-Flash-0731").vllm)
    assert newer.release.name == load.release_names()[0]


def test_a_tree_gets_only_the_flags_that_it_has(tmp_path: Path) -> None:
    own = {name: text for name, text in serve_tree.FILES.items() if name.startswith("vllm/")}
    main = '"VLLM_MAIN_CUDA_VERSION": lambda: os.getenv("VLLM_MAIN_CUDA_VERSION", "13.0"),\n'
    table = "environment_variables: dict[str, Callable] = {\n"
    own["vllm/envs.py"] = own["vllm/envs.py"].replace(table, table + main)
    found = serving(str(trees.sdist(tmp_path / "vllm.tar.gz", **own)))
    assert any("a tree does not tell how it counts" in each for each in found.notes)
    made = plan(source(LLAMA_8B), machine(), found, "latency")
    assert made.fits
    assert all(each.flag in found.flags for each in made.parameters)
    assert set(found.notes) <= set(made.notes)


@pytest.mark.parametrize("name", ["", "main", "0.34.0.dev1+g123", "99.0"])
def test_a_version_that_is_none_counts_as_the_newest(name: str) -> None:
    newest = load.release_names()[0]
    assert knowledge.accounting(name) == knowledge.accounting(newest)
    assert knowledge.batch(name, 1 << 40) == knowledge.batch(newest, 1 << 40)
