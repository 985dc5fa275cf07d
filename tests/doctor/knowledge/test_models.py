"""What is known of the checkpoints of the DeepSeek-V4 family."""

from __future__ import annotations

from dataclasses import fields

import pytest
from packaging.version import Version
from tests.doctor.knowledge.files import ROOT, read

from dsv4_doctor.errors import UsageError
from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.models import Backbone, Checkpoint, checkpoint, family

CHECKPOINTS = family().checkpoints


def name(each: Checkpoint) -> str:
    return each.name


def test_the_file_has_no_key_that_nobody_reads() -> None:
    data = read(ROOT / "models.json")
    assert set(data) == {"schema", "release", "family", "backbones", "models"}
    assert set(data["family"]) == {"feature", "block_size", "kv_cache_dtype"}
    shape = {field.name for field in fields(Checkpoint)} - {"place", "vllm_place"} | {"at"}
    for each in data["models"]:
        assert set(each) <= shape
    for each in data["backbones"].values():
        assert set(each) <= {field.name for field in fields(Backbone)}
    assert {each["backbone"] for each in data["models"]} == set(data["backbones"])


def test_the_checkpoints_stand_by_backbone_and_none_twice() -> None:
    names = [each.name for each in CHECKPOINTS]
    assert len(names) == len({each.lower() for each in names})
    backbones = [each.backbone.name for each in CHECKPOINTS]
    assert backbones == sorted(backbones, key=backbones.index)


@pytest.mark.parametrize("model", CHECKPOINTS, ids=name)
def test_everything_has_a_source(model: Checkpoint) -> None:
    amounts = [each for each in (model.memory_gb, model.disk_gb, model.weights_gib) if each]
    for place in (model.place, model.vllm_place, *(each.place for each in amounts)):
        assert place.file
        assert place.line or place.file.startswith("https://")


@pytest.mark.parametrize("model", CHECKPOINTS, ids=name)
def test_the_sizes_fit_together(model: Checkpoint) -> None:
    if model.disk_gb is not None:
        assert model.disk_gb.value <= model.memory_gb.value
        if model.weights_gib is not None:
            loaded = model.weights_gib.value * (1 << 30) / 1e9
            assert 0.9 < loaded / model.disk_gb.value < 1.1


@pytest.mark.parametrize("model", CHECKPOINTS, ids=name)
def test_the_releases_that_serve_it_have_the_family(model: Checkpoint) -> None:
    served = [each for each in load.release_names() if model.vllm.contains(each)]
    assert served
    for each in served:
        assert load.release(each).has(family().feature), each


def test_a_checkpoint_by_its_last_name() -> None:
    assert checkpoint("deepseek-v4-pro").name == "deepseek-ai/DeepSeek-V4-Pro"
    assert checkpoint("deepseek-ai/DeepSeek-V4-Flash-0731").draft == "dspark"


@pytest.mark.parametrize("text", ["", "DeepSeek-V4", "DeepSeek-V4-67B", "gpt2"])
def test_an_unknown_model_lists_what_exists(text: str) -> None:
    with pytest.raises(UsageError, match="known: deepseek-ai/DeepSeek-V4-Flash, "):
        checkpoint(text)


@pytest.mark.parametrize(
    ("model", "size", "fits"),
    [
        ("DeepSeek-V4-Flash", 1, True),
        ("DeepSeek-V4-Flash", 8, True),
        ("DeepSeek-V4-Flash", 16, False),
        ("DeepSeek-V4-Flash", 3, False),
        ("DeepSeek-V4-Flash", 0, False),
        ("DeepSeek-V4-Pro", 16, True),
        ("DeepSeek-V4-Pro", 32, False),
        ("DeepSeek-V4.1-Flash", 8, None),
    ],
)
def test_over_how_many_gpus_the_attention_splits(model: str, size: int, fits: bool | None) -> None:
    assert checkpoint(model).backbone.splits(size) is fits


def test_the_oldest_release_is_the_first_with_the_feature() -> None:
    first = load.release("0.19.1").features[family().feature].first
    oldest = min(min(map(Version, _lower(each))) for each in CHECKPOINTS)
    assert oldest == Version(first)


def _lower(model: Checkpoint) -> list[str]:
    return [each.version for each in model.vllm if each.operator == ">="]
