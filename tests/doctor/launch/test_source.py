"""Finding the model that a command line names, and the size of its checkpoint."""

from __future__ import annotations

import io
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.launch.configs import FLASH, LLAMA_8B

from dsv4_doctor.errors import InputError, UsageError
from dsv4_doctor.launch.checkpoint import INDEX, header, size
from dsv4_doctor.launch.source import find

NOWHERE = {"HF_HOME": "/nowhere"}


def write(directory: Path, config: Any) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return directory


def shard(path: Path, **tensors: tuple[str, int, int]) -> None:
    """Write the header of a safetensors file; of its tensors only where they would be."""
    described: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    for name, (dtype, first, last) in tensors.items():
        described[name] = {"dtype": dtype, "shape": [last - first], "data_offsets": [first, last]}
    text = json.dumps(described).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text)


def test_a_directory_and_the_file_in_it(tmp_path: Path) -> None:
    place = write(tmp_path / "model", LLAMA_8B)
    both = [find(str(place), NOWHERE), find(str(place / "config.json"), NOWHERE)]
    for found in both:
        assert found.name == str(place)
        assert found.config.data == LLAMA_8B
        assert found.size is None


def test_a_download_by_its_name_and_by_its_directory(tmp_path: Path) -> None:
    cache = tmp_path / "hub" / "models--deepseek-ai--DeepSeek-V4-Flash"
    write(cache / "snapshots" / "old", {})
    place = write(cache / "snapshots" / "abc", FLASH)
    (place / INDEX).write_text(json.dumps({"metadata": {"total_size": 159 << 30}}))
    (cache / "refs").mkdir()
    (cache / "refs" / "main").write_text("abc\n")
    name = "deepseek-ai/DeepSeek-V4-Flash"
    for found in (
        find(name, {"HF_HOME": str(tmp_path)}),
        find(name, {"HF_HUB_CACHE": str(tmp_path / "hub")}),
        find(str(cache), NOWHERE),
    ):
        assert found.name == name
        assert found.size == 159 << 30
        assert found.published is not None
        assert found.notes == ()


def test_a_download_without_a_revision(tmp_path: Path) -> None:
    (tmp_path / "models--a--b" / "snapshots").mkdir(parents=True)
    with pytest.raises(InputError, match="of which no revision is there"):
        find(str(tmp_path / "models--a--b"), NOWHERE)


def test_a_reference_that_leads_elsewhere_is_not_followed(tmp_path: Path) -> None:
    cache = tmp_path / "models--a--b"
    place = write(cache / "snapshots" / "abc", LLAMA_8B)
    (cache / "refs").mkdir()
    (cache / "refs" / "main").write_text("../../elsewhere")
    assert find(str(cache), NOWHERE).where == str(place / "config.json")


def test_a_published_name_without_a_download() -> None:
    found = find("DeepSeek-V4-Flash-0731", NOWHERE)
    assert found.name == "deepseek-ai/DeepSeek-V4-Flash-0731"
    assert "published structure" in found.notes[0]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    def feed(config: dict[str, Any]) -> None:
        raw = io.BytesIO(json.dumps(config).encode())
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(raw))

    feed({**LLAMA_8B, "_name_or_path": "meta/llama"})
    assert find("-", NOWHERE).name == "meta/llama"
    feed(LLAMA_8B)
    found = find("-", NOWHERE)
    assert (found.name, found.notes[0][:29]) == ("MODEL", "standard input does not tell ")


@pytest.mark.parametrize("text", ["{", "[]", "1", "\x00", "null", '"config"'])
def test_a_file_that_is_no_config(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"config\.json: not ") as caught:
        find(str(path), NOWHERE)
    assert "lies beside the weights" in caught.value.hint


def test_a_directory_without_a_config(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no config\.json"):
        find(str(tmp_path), NOWHERE)


@pytest.mark.parametrize("name", ["", "no/such-model", "DeepSeek-V4-67B", "../x"])
def test_a_name_that_means_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if name == "":
        with pytest.raises(InputError):
            find(name, NOWHERE)
        return
    with pytest.raises(UsageError, match="not one of the published models") as caught:
        find(name, NOWHERE)
    assert "deepseek-ai/DeepSeek-V4-Flash" in caught.value.hint


def test_the_size_by_the_headers(tmp_path: Path) -> None:
    shard(tmp_path / "a.safetensors", one=("BF16", 0, 100), two=("F8_E4M3", 100, 150))
    shard(tmp_path / "b.safetensors", three=("BF16", 0, 1 << 40))
    found = size(tmp_path)
    assert found.total == 150 + (1 << 40)
    assert dict(found.dtypes) == {"BF16": 100 + (1 << 40), "F8_E4M3": 50}


def test_the_index_tells_what_is_missing(tmp_path: Path) -> None:
    shard(tmp_path / "model-1.safetensors", one=("BF16", 0, 100))
    named = {"one": "model-1.safetensors", "two": "model-2.safetensors"}
    index = {"metadata": {"total_size": 200}, "weight_map": named}
    (tmp_path / INDEX).write_text(json.dumps(index))
    found = size(tmp_path)
    assert found.total == 200
    assert found.notes == ("1 of 2 files of the checkpoint are not there",)


def test_no_checkpoint_at_all(tmp_path: Path) -> None:
    assert size(tmp_path).total is None


@pytest.mark.parametrize("total", [None, 0, -1, "big", True, 1 << 60, 1.5, []])
def test_an_index_whose_size_is_none(tmp_path: Path, total: Any) -> None:
    (tmp_path / INDEX).write_text(json.dumps({"metadata": {"total_size": total}}))
    with pytest.raises(InputError, match="total_size is not the size of a checkpoint"):
        size(tmp_path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.binary(max_size=64) | JSON.map(lambda data: json.dumps(data).encode()))
def test_any_bytes_are_a_header_or_refused(
    tmp_path_factory: pytest.TempPathFactory, raw: bytes
) -> None:
    path = tmp_path_factory.mktemp("x") / "a.safetensors"
    for content in (raw, len(raw).to_bytes(8, "little") + raw):
        path.write_bytes(content)
        try:
            found = header(path)
        except InputError:
            continue
        assert all(0 <= each <= 1 << 50 for each in found.values())


@given(JSON)
def test_any_index_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    place = tmp_path_factory.mktemp("x")
    for index in (data, {"metadata": data}, {"metadata": {"total_size": 8}, "weight_map": data}):
        (place / INDEX).write_text(json.dumps(index))
        with suppress(InputError):
            assert size(place).total == 8
