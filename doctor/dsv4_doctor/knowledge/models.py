"""The checkpoints of the DeepSeek-V4 family: their size, and what serving one takes.

On which GPUs a release serves the family stands in the release's own file, as the feature
``deepseek-v4``.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from packaging.specifiers import SpecifierSet

from dsv4_doctor.errors import UsageError
from dsv4_doctor.knowledge.places import cited, place
from dsv4_doctor.lazy_dataclass import dataclass
from dsv4_doctor.resources import files

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsv4_doctor.knowledge.places import Cited, Place


@dataclass(frozen=True)
class Amount:
    """A number with the place where it stands."""

    value: float
    place: Place


@dataclass(frozen=True)
class Backbone:
    """A network that several checkpoints share.

    Attributes:
        parameters: All of them, such as ``284B``.
        active: Those that one token uses.
        context: Longest sequence, in tokens.
        heads: Attention heads, ``None`` where it was not established.
        o_groups: Groups of the output projection, as before.
    """

    name: str
    parameters: Cited
    active: Cited
    context: Cited
    heads: Cited | None = None
    o_groups: Cited | None = None

    def splits(self, tensor_parallel: int) -> bool | None:
        """Whether the attention can be split over so many GPUs, ``None`` when it is not known.

        vLLM asserts that the heads divide evenly, and divides the output groups without asking:
        with more GPUs than groups none is left for each.
        """
        if self.heads is None or self.o_groups is None:
            return None
        heads, groups = int(self.heads.value), int(self.o_groups.value)
        return tensor_parallel > 0 and heads % tensor_parallel == 0 == groups % tensor_parallel


@dataclass(frozen=True)
class Checkpoint:
    """Weights as they are published.

    Attributes:
        name: Repository on the Hugging Face hub.
        architecture: Name in vLLM's registry of models.
        precision: Experts first, the rest after a plus sign.
        draft: What proposes tokens ahead: ``mtp``, ``dspark``, or empty when not established.
        vllm: Releases that serve it.
        memory_gb: GPU memory that it takes over all GPUs, in 10^9 bytes, by vLLM's recipe.
        disk_gb: Size on disk in 10^9 bytes.
        weights_gib: Weights once loaded, in GiB, where somebody has measured it.
        place: Where the name stands.
    """

    name: str
    backbone: Backbone
    architecture: str
    precision: str
    draft: str
    vllm: SpecifierSet
    vllm_place: Place
    memory_gb: Amount
    disk_gb: Amount | None
    weights_gib: Amount | None
    place: Place


@dataclass(frozen=True)
class Family:
    """What all checkpoints have in common.

    Attributes:
        feature: Name of the feature that a release must have.
        block_size: The only size of a KV cache block that its attention kernels take on NVIDIA.
        kv_cache_dtype: What vLLM's recipes give; every release takes it.
    """

    feature: str
    block_size: Cited
    kv_cache_dtype: Cited
    checkpoints: tuple[Checkpoint, ...]


@cache
def family() -> Family:
    """Return the DeepSeek-V4 family."""
    text = files(__package__).joinpath("models.json").read_text(encoding="utf-8")
    data: Mapping[str, Any] = json.loads(text)
    release: str = data["release"]
    backbones = {
        name: Backbone(name, **{key: _cited(each, release) for key, each in entry.items()})
        for name, entry in data["backbones"].items()
    }
    common = data["family"]
    return Family(
        common["feature"],
        _cited(common["block_size"], release),
        _cited(common["kv_cache_dtype"], release),
        tuple(_checkpoint(each, backbones, release) for each in data["models"]),
    )


def checkpoint(name: str) -> Checkpoint:
    """Return one checkpoint by its repository, or by the last part of its name.

    Raises:
        UsageError: None or several have this name; the message lists all.
    """
    known = family().checkpoints
    wanted = name.lower()
    found = [
        each for each in known if wanted in {each.name.lower(), each.name.lower().split("/")[1]}
    ]
    if len(found) != 1:
        msg = f"unknown model {name!r}; known: {', '.join(each.name for each in known)}"
        raise UsageError(msg)
    return found[0]


def _checkpoint(
    data: Mapping[str, Any], backbones: Mapping[str, Backbone], release: str
) -> Checkpoint:
    vllm = _cited(data["vllm"], release)
    return Checkpoint(
        name=data["name"],
        backbone=backbones[data["backbone"]],
        architecture=data["architecture"],
        precision=data["precision"],
        draft=data.get("draft", ""),
        vllm=SpecifierSet(vllm.value),
        vllm_place=vllm.place,
        memory_gb=_amount(data["memory_gb"], release),
        disk_gb=_amount(data["disk_gb"], release) if "disk_gb" in data else None,
        weights_gib=_amount(data["weights_gib"], release) if "weights_gib" in data else None,
        place=place(data["at"], "vllm", release),
    )


def _cited(data: Mapping[str, Any], release: str) -> Cited:
    return cited(data, "vllm", release)


def _amount(data: Mapping[str, Any], release: str) -> Amount:
    return Amount(data["value"], place(data["at"], "vllm", release))
