"""What is known of GPU models."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.knowledge.files import ROOT, read

from dsv4_doctor.knowledge.gpu_archs import gpu_archs
from dsv4_doctor.knowledge.gpus import GpuModel, gpu_model, gpu_models

MODELS = gpu_models()
AMOUNTS = ("memory_gb", "memory_mib", "nvlinks")
KEYS = {"name", "pattern", "seen_as", "arch", "at", "bar1_mib", *AMOUNTS}


def name(model: GpuModel) -> str:
    return model.name


def test_the_models_are_in_order_and_none_stands_twice() -> None:
    order = [(each.arch.number, each.name) for each in MODELS]
    assert order == sorted(set(order))
    assert len({each.pattern.pattern for each in MODELS}) == len(MODELS)


def test_the_file_has_no_key_that_nobody_reads() -> None:
    for each in read(ROOT / "gpus.json")["gpus"]:
        assert set(each) <= KEYS
        for key in AMOUNTS:
            assert set(each.get(key, ())) <= {"value", "at"}
        assert set(each.get("bar1_mib", ())) <= {"values", "comes", "at"}


@pytest.mark.parametrize("model", MODELS, ids=name)
def test_the_names_that_nvml_gives_mean_one_model(model: GpuModel) -> None:
    for seen in model.seen_as:
        assert gpu_model(seen) is model
        bare = seen.removeprefix("NVIDIA ").removeprefix("Tesla ")
        assert [each for each in MODELS if each.pattern.fullmatch(bare)] == [model]


@pytest.mark.parametrize("model", MODELS, ids=name)
def test_everything_has_a_source(model: GpuModel) -> None:
    places = [model.place, *(model.bar1.places if model.bar1 else ())]
    places += [each.place for each in (model.memory_gb, model.memory, model.nvlinks) if each]
    assert all(each.project and each.file for each in places)


@pytest.mark.parametrize("model", MODELS, ids=name)
def test_the_numbers_fit_together(model: GpuModel) -> None:
    assert model.arch in gpu_archs()
    if model.memory_gb and model.memory:
        # What NVML counts is a little less or more than what the maker prints.
        assert 0.98 < model.memory.value / (model.memory_gb.value << 30) < 1.08
    if model.bar1:
        sizes = model.bar1.seen
        assert list(sizes) == sorted(set(sizes))
        assert all(size & (size - 1) == 0 for size in sizes)
        if model.memory:
            covered = {size >= model.memory.value for size in sizes}
            assert model.bar1.comes == "firmware" or covered == {model.bar1.comes == "full"}


def test_some_models() -> None:
    h200 = gpu_model("NVIDIA H200")
    assert h200 is not None
    assert h200.nvlinks is not None
    assert (h200.arch.sm, h200.nvlinks.value) == ("sm_90", 18)
    assert gpu_model("NVIDIA H200 NVL") is not h200
    t4 = gpu_model("Tesla T4")
    assert t4 is not None
    assert t4.bar1 is not None
    assert t4.bar1.comes == "small"


@given(st.text())
def test_any_other_name_is_not_known_or_one_model(text: str) -> None:
    assert gpu_model(text) is None or gpu_model(text) in MODELS
