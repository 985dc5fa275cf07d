"""From a tree in vLLM's shapes to the JSON of a release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.doctor.knowledge.extract import trees
from tests.doctor.knowledge.extract.trees import line_of

from dsv4_doctor.errors import InputError
from dsv4_doctor.knowledge import parse
from dsv4_doctor.knowledge.extract import dockerfile, writing
from dsv4_doctor.knowledge.extract.release import extract
from dsv4_doctor.knowledge.extract.tree import open_tree
from dsv4_doctor.knowledge.packed import pack, unpack


@pytest.fixture
def data(tmp_path: Path) -> dict[str, Any]:
    return extract(trees.sdist(tmp_path / "vllm-0.24.0.tar.gz")).data


def test_the_pins_and_floors(data: dict[str, Any]) -> None:
    assert data["requires_python"]["value"] == ">=3.10,<3.15"
    assert data["torch"] == {"value": "2.11.0", "at": line_of("pyproject.toml", "torch")}
    assert data["cmake"] == {"value": "3.26.1", "at": line_of("pyproject.toml", "cmake")}
    assert data["main_cuda"] == {"value": "13.0", "at": line_of("vllm/envs.py", '"13.0"')}
    assert data["cxx_standard"] == {"value": "20", "at": "CMakeLists.txt:2"}
    assert data["gcc"] == [
        {"value": "11.3", "scope": "all", "at": line_of("CMakeLists.txt", '"11.3"')},
        {"value": "13", "scope": "cuda", "at": line_of("CMakeLists.txt", '"13"')},
    ]


def test_the_arguments_of_the_dockerfile(tmp_path: Path) -> None:
    tree = open_tree(trees.directory(tmp_path / "vllm"))
    found = dockerfile.arguments(tree)
    assert {name: (said["default"], line) for name, (said, _, line) in found.items()} == {
        "BUILD_BASE_IMAGE": ({"expression": "nvidia/cuda:${CUDA_VERSION}-devel"}, 2),
        "CUDA_VERSION": ("13.0.2", 1),
        "torch_cuda_arch_list": ("9.0 10.0+PTX", 6),
    }


def test_what_stands_in_torchs_wheel_is_cited_from_there(data: dict[str, Any]) -> None:
    place = {"project": "torch", "release": "2.11.0", "file": "METADATA", "line": 41}
    assert data["torch_cuda"] == {"value": "13.0", "at": place}
    assert data["triton"]["value"] == "==3.6.0"


def test_architectures_by_compiler(data: dict[str, Any]) -> None:
    found = [(each["nvcc"], len(each["archs"])) for each in data["cuda_archs"]]
    assert found == [(">=13.0", 5), (">=12.8,<13.0", 6), ("<12.8", 3)]
    assert data["cuda_archs"][2]["at"] == line_of("CMakeLists.txt", '"7.5;8.0;9.0")')


def test_extensions_with_gates_and_files(data: dict[str, Any]) -> None:
    found = {each["name"]: each for each in data["extensions"]}
    assert list(found) == [
        "triton_kernels", "spinloop", "_vllm_fa2_C", "_vllm_fa3_C", "_deep_gemm_C", "_C",
    ]  # fmt: skip
    assert found["spinloop"]["python"] == ">=3.11"
    assert found["_vllm_fa3_C"]["nvcc"] == ">=12.3"
    assert "optional" not in found["_vllm_fa3_C"]
    assert found["_vllm_fa3_C"]["file"] == "vllm/vllm_flash_attn/_vllm_fa3_C.abi3.so"
    assert found["_deep_gemm_C"]["optional"]
    assert found["_deep_gemm_C"]["file"] == "vllm/third_party/deep_gemm/_C.cpython-*.so"
    assert found["_C"]["file"] == "vllm/_C.abi3.so"


def test_what_is_downloaded(data: dict[str, Any]) -> None:
    found = {each["name"]: each for each in data["external_projects"]}
    assert found["cutlass"]["revision"] == "v4.4.2"
    assert found["cutlass"]["at"] == line_of("CMakeLists.txt", "CUTLASS_REVISION")
    assert found["deepgemm"]["override"] == "DEEPGEMM_SRC_DIR"
    assert found["deepgemm"]["components"] == ["_deep_gemm_C"]
    assert found["vllm-flash-attn"]["components"] == ["_vllm_fa2_C", "_vllm_fa3_C"]
    overrides = [each["override"] for each in data["external_projects"]]
    assert overrides == ["VLLM_CUTLASS_SRC_DIR", "DEEPGEMM_SRC_DIR", "VLLM_FLASH_ATTN_SRC_DIR"]


def test_features(data: dict[str, Any]) -> None:
    features = data["features"]
    assert features["fa3"]["archs"] == ["9.0a"]  # From the pinned commit of flash-attention.
    assert features["deep-gemm"]["archs"] == ["9.0a", "10.0f"]
    assert features["machete"]["archs"] == ["9.0a"]
    assert features["machete"]["nvcc"] == ">=12.0"
    assert features["machete"]["component"] == "_C"
    assert features["marlin"]["archs"] == ["8.0", "12.0f"]
    assert features["marlin"]["ptx"] == ["8.0"]
    assert features["paged-v2"]["units"] == ["csrc/attention/paged_attention_v2.cu"]
    assert "archs" not in features["paged-v2"]
    assert features["paged-v2"]["at"][0] == line_of("CMakeLists.txt", "paged_attention_v2")
    assert not features["deepseek-v4"]["present"]


def test_a_feature_is_recognised_by_what_carried_it_once(tmp_path: Path) -> None:
    pin = "013f0c4fc47e6574060879d9734c1df8c5c273bd"
    older = {
        "PKG-INFO": trees.FILES["PKG-INFO"].replace("0.24.0", "0.6.3"),
        "setup.py": trees.SETUP.replace("_vllm_fa2_C", "vllm_flash_attn_c"),
        "cmake/external_projects/vllm_flash_attn.cmake": trees.FLASH_ATTENTION.replace(
            "803020a8fa15407871341d41eba4919ade2ee1ee", pin
        ),
        "vllm/attention/selector.py": "if not current_platform.has_device_capability(80):\n",
    }
    feature = extract(trees.directory(tmp_path, **older)).data["features"]["fa2"]
    assert feature["component"] == "vllm_flash_attn_c"
    assert feature["archs"] == []  # Those of the build, which is an answer.
    assert feature["compute_majors"] == [8, 9]
    assert "unknown" not in feature
    elsewhere = [each for each in feature["at"] if isinstance(each, dict)]
    assert {each["release"] for each in elsewhere} == {pin}


def test_a_rule_about_a_wheel_cites_the_wheel_of_the_release(tmp_path: Path) -> None:
    newer = trees.FILES["PKG-INFO"].replace("0.24.0", "0.30.0")
    flash = trees.FLASH_ATTENTION.replace("803020a8fa15407871341d41eba4919ade2ee1ee", "0" * 40)
    changed = {"PKG-INFO": newer, "cmake/external_projects/vllm_flash_attn.cmake": flash}
    feature = extract(trees.directory(tmp_path, **changed)).data["features"]["fa3"]
    assert feature["archs"] == ["9.0a"]
    wheel = next(each for each in feature["at"] if isinstance(each, dict))
    assert (wheel["project"], wheel["release"]) == ("vllm wheel", "0.30.0")


def test_what_cannot_be_established_is_said(data: dict[str, Any]) -> None:
    said = "\n".join(data["not_established"])
    assert "fa3: compute_majors" in said
    assert "deepseek-v4: not in this tree, and not known to have gone" in said
    assert "compute_majors" not in data["features"]["fa3"]


def test_the_result_loads_as_a_release_and_is_stable(data: dict[str, Any]) -> None:
    text = writing.render_rows(pack(data))
    assert unpack(json.loads(text)) == data
    assert parse.release(unpack(json.loads(text))).has("fa3")


def test_an_unknown_torch_gives_no_cuda(tmp_path: Path) -> None:
    newer = trees.PYPROJECT.replace("2.11.0", "9.9.9")
    found = extract(trees.directory(tmp_path, **{"pyproject.toml": newer}))
    assert "torch_cuda" not in found.data
    assert any("torch 9.9.9" in each for each in found.not_established)
    assert parse.release(found.data).torch_cuda is None


def test_a_revision_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    changed = trees.CMAKE.replace('set(CUTLASS_REVISION "v4.4.2")', "")
    found = extract(trees.directory(tmp_path, **{"CMakeLists.txt": changed}))
    assert "cutlass" not in {each["name"] for each in found.data["external_projects"]}
    assert any("cutlass: its revision" in each for each in found.not_established)


@pytest.mark.parametrize(
    ("file", "text", "named"),
    [
        ("setup.py", "def (", "is no Python"),
        ("CMakeLists.txt", "if(", "cuda_archs"),
        ("vllm/envs.py", "", "main_cuda"),
        ("pyproject.toml", '[project]\nname = "vllm"\n', "requires_python, torch"),
    ],
)
def test_a_broken_tree_is_refused_by_name(tmp_path: Path, file: str, text: str, named: str) -> None:
    with pytest.raises(InputError, match=named):
        extract(trees.directory(tmp_path, **{file: text}))
