"""What a release says of flags and variables, shown and compared."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.doctor.knowledge.extract import serve_tree, trees

from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.named import from_tree
from dsv4_doctor.releases import tables
from dsv4_doctor.releases.compare import changes, side
from dsv4_doctor.releases.tables import FLAGS, KEYS, VARIABLES, shown

OLD, NEW = side(load.release("0.24.0")), side(load.release("0.33.0"))


def found(topic: str) -> dict[str, str]:
    return {each.name: each.kind for each in changes(OLD, NEW) if each.topic == topic}


def test_new_and_dropped_flags() -> None:
    assert found(FLAGS)["--calculate-kv-scales"] == "removed"
    assert found(FLAGS)["--log-level"] == "added"
    assert found(KEYS)["--attention-config.use_fp4_indexer_cache"] == "removed"
    assert "VLLM_KERNEL_SYMBOL_MAP" in found(VARIABLES)


def test_changed_defaults_choices_and_status() -> None:
    by_name = {(each.topic, each.name): each for each in changes(OLD, NEW)}
    origins = by_name["default of a flag", "--allowed-origins"]
    assert origins.before is not None
    assert origins.after is not None
    assert (origins.before.value, origins.after.value) == ('["*"]', "[]")
    assert ("choices of a flag", "--moe-backend") in by_name
    assert ("status of a flag", "--disable-cascade-attn") in by_name
    assert ("default of a variable", "VLLM_ALLREDUCE_USE_FLASHINFER") in by_name


def test_new_floors_of_packages_and_dropped_kernels() -> None:
    by_name = {(each.topic, each.name): each for each in changes(OLD, NEW)}
    torch = by_name[tables.PACKAGES, "build torch"]
    assert torch.before is not None
    assert torch.after is not None
    assert (torch.before.value, torch.after.value) == ("==2.11.0", "==2.14.0")
    assert str(torch.after.place) == "vllm 0.33.0 pyproject.toml:10"
    assert found(tables.KERNELS)["paged-attention-v2"] == "removed"
    assert found(tables.KERNELS)["flash-kda"] == "added"
    assert found(tables.DEEPSEEK)["model DeepseekV41ForCausalLM"] == "added"


def test_what_is_shown_of_kernels_and_of_deepseek() -> None:
    topics = dict(OLD.entries())
    assert topics[tables.KERNELS]["machete"].value == (
        "9.0a with nvcc >=12.0; in _C_stable_libtorch"
    )
    assert topics[tables.KERNELS]["mamba"].value == (
        "every architecture of the build; in _C_stable_libtorch"
    )
    backend = topics[tables.DEEPSEEK]["backend FLASHMLA_SPARSE_DSV4"]
    assert backend.value == (
        "compute capability 9.x, 10.x; block size 256; KV cache auto, fp8_ds_mla, fp8;"
        " head size 512"
    )
    assert topics[tables.DOCKER]["CUDA_VERSION"].value == "13.0.2"


def test_an_attribute_of_what_came_or_went_is_no_change_besides() -> None:
    for each in changes(OLD, NEW):
        if each.topic in tables.ATTRIBUTES:
            assert each.kind == "changed"


def test_a_tree_says_its_flags_itself(tmp_path: Path) -> None:
    own = {name: text for name, text in serve_tree.FILES.items() if name.startswith("vllm/")}
    main = '"VLLM_MAIN_CUDA_VERSION": lambda: os.getenv("VLLM_MAIN_CUDA_VERSION", "13.0"),\n'
    table = "environment_variables: dict[str, Callable] = {\n"
    own["vllm/envs.py"] = own["vllm/envs.py"].replace(table, table + main)
    path = trees.sdist(tmp_path / "vllm.tar.gz", **own)
    release, _ = from_tree(path)
    read = side(release, str(path))
    topics = dict(read.entries())
    assert topics[FLAGS]["--level"].value == "str; default info; one of debug, info"
    assert topics[FLAGS]["--old-way"].value.startswith("switch; default false; ignored: --old-way")
    assert topics[VARIABLES]["VLLM_MODE"].value == (
        "default safe; read by vllm/envs.py; one of fast, safe"
    )
    assert str(topics[FLAGS]["--port"].place).startswith("vllm 0.24.0 vllm/entrypoints/cli_args.py")
    assert any(each.name == "--max-model-len" for each in changes(OLD, read))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "unset"),
        ("", '""'),
        ("auto", "auto"),
        (True, "true"),
        ({"expression": "f()"}, "f()"),
        ([1], "[1]"),
        ({"a": 1}, '{"a": 1}'),
    ],
)
def test_values_as_a_person_reads_them(value: object, text: str) -> None:
    assert shown(value) == text
