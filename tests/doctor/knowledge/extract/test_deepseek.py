"""What a tree has for DeepSeek-V4."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsv4_doctor.errors import InputError
from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.extract.tables import read_deepseek
from dsv4_doctor.knowledge.extract.tree import SourceTree

SPARSE = '''\
from vllm.backend import AttentionBackend

SIZES = [256]


class DeepseekV4SparseBackend(AttentionBackend):
    """A note."""

    supported_kv_cache_dtypes: ClassVar[list[str]] = ["auto", "fp8"]

    @staticmethod
    def get_name() -> str:
        return "SPARSE_DSV4"

    @staticmethod
    def get_supported_kernel_block_sizes():
        """All of them."""
        return SIZES

    @classmethod
    def supports_compute_capability(cls, capability):
        return capability.major in [9, 10]


class DeepseekV4OtherBackend(DeepseekV4SparseBackend):
    @staticmethod
    def get_name() -> str:
        return "OTHER_DSV4"

    @classmethod
    def get_supported_head_sizes(cls):
        return [512]

    @staticmethod
    def get_supported_kernel_block_sizes():
        if current_platform.is_rocm():
            return [64]
        return [128]

    @classmethod
    def supports_compute_capability(cls, capability):
        return capability.major == 12


class DeepseekV4IndexerBackend(AttentionBackend):
    pass
'''
FILES = {
    "vllm/model_executor/models/registry.py": (
        'MODELS = {\n    "DeepseekV4ForCausalLM": ("a", "b"),\n    "OtherLM": ("a", "b"),\n}\n'
    ),
    "vllm/tokenizers/registry.py": 'T = {"deepseek_v4": ("a", "b"), "hf": ("a", "b")}\n',
    "vllm/model_executor/layers/quantization/__init__.py": (
        'from typing import Literal\nQuantizationMethods = Literal[\n    "awq",\n'
        '    "deepseek_v4_fp8",\n]\n'
    ),
    "vllm/models/deepseek_v4/sparse.py": SPARSE,
    "vllm/models/deepseek_v4/amd/rocm.py": SPARSE.replace("SPARSE_DSV4", "ROCM_DSV4"),
    "vllm/backend.py": "class AttentionBackend:\n    pass\n",
}


def tree(**changed: str) -> SourceTree:
    files = {**FILES, **changed}
    return SourceTree("a tree", "0.1", "", {name: text.encode() for name, text in files.items()})


def test_models_backends_and_quantisation() -> None:
    found = read_deepseek(tree())
    assert {name: said for name, (said, _, _) in found.items()} == {
        "model DeepseekV4ForCausalLM": {},
        "tokenizer mode deepseek_v4": {},
        "quantization deepseek_v4_fp8": {},
        "backend SPARSE_DSV4": {
            "block_sizes": [256],
            "compute_majors": [9, 10],
            "kv_cache_dtypes": ["auto", "fp8"],
        },
        # What its method computes is not established.
        "backend OTHER_DSV4": {
            "head_sizes": [512],
            "compute_majors": [12],
            "kv_cache_dtypes": ["auto", "fp8"],
        },
    }
    assert found["model DeepseekV4ForCausalLM"][1:] == ("vllm/model_executor/models/registry.py", 2)
    assert found["quantization deepseek_v4_fp8"][2] == 4
    assert found["backend SPARSE_DSV4"][1:] == ("vllm/models/deepseek_v4/sparse.py", 6)


@pytest.mark.parametrize("file", list(FILES))
@settings(max_examples=40, deadline=None)
@given(cut=st.floats(0, 1), junk=st.sampled_from(["", "(", "\0", "\n  x", "}", "class "]))
def test_a_broken_file_raises_one_error_only(file: str, cut: float, junk: str) -> None:
    text = FILES[file]
    at = int(cut * len(text))
    for changed in (text[:at] + junk, text[:at] + junk + text[at:]):
        with suppress(InputError):
            assert all(line > 0 for _, _, line in read_deepseek(tree(**{file: changed})).values())


def test_a_tree_without_it_has_nothing() -> None:
    assert read_deepseek(SourceTree("t", "0.1", "", {})) == {}


def says(name: str, release: str) -> dict[str, Any] | None:
    return load.deepseek_v4()[name].says(release)


def test_what_vllm_has() -> None:
    model = load.deepseek_v4()["model DeepseekV4ForCausalLM"]
    assert model.spans == (("0.20.0", load.flag_releases()[-1]),)
    assert str(model.places()["0.24.0"]) == "vllm 0.24.0 vllm/model_executor/models/registry.py:100"
    assert says("backend V4_FLASHMLA_SPARSE", "0.20.2") == {
        "block_sizes": [256],
        "head_sizes": [512, 576],
        "compute_majors": [9, 10],
        "kv_cache_dtypes": ["auto", "bfloat16", "fp8_ds_mla", "fp8"],
    }
    sparse = says("backend FLASHINFER_MLA_SPARSE_DSV4", "0.33.0")
    assert sparse is not None
    assert (sparse["block_sizes"], sparse["compute_majors"]) == ([256], [10, 12])
    assert says("model DeepseekV41ForCausalLM", "0.29.0") is None
    assert says("model DeepseekV41ForCausalLM", "0.30.0") == {}


def test_the_backends_agree_with_the_feature() -> None:
    for name in load.release_names():
        feature = load.release(name).features["deepseek-v4"]
        majors = {
            major
            for entry, each in load.deepseek_v4().items()
            if entry.startswith("backend ") and not entry.endswith("V41")
            for major in (each.says(name) or {}).get("compute_majors", ())
        }
        assert majors == set(feature.compute_majors), name
