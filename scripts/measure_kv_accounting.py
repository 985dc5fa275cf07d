#!/usr/bin/env python3
"""Runs vLLM's own counting of DeepSeek-V4's KV cache and holds `launch` against it.

    scripts/measure_kv_accounting.py vllm-0.33.0.tar.gz     # with a Python that has torch

Takes the functions that group layers, size the pool and check a request at the start out of one
release's sdist, with stand-ins for the rest of vLLM, and runs them on the layers of Flash and Pro.
Prints a line a case, as in ``tests/doctor/launch/kv_of_vllm.json``. Exit status: 0 when `launch`
counts the same, 1 when it does not. No GPU is needed. The stand-ins run code of that sdist.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import json
import sys
import tempfile
from dataclasses import fields, replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import MagicMock

from dsv4_doctor.knowledge import launch as knowledge
from dsv4_doctor.knowledge.extract.tree import open_tree
from dsv4_doctor.launch.fields import Fields
from dsv4_doctor.launch.kv import layout
from dsv4_doctor.launch.read_shape import shape

if TYPE_CHECKING:
    from collections.abc import Sequence

# What is really loaded, where the release has it.
REAL = (
    "vllm.v1.kv_cache_interface",
    "vllm.v1.kv_cache_spec_registry",
    "vllm.v1.core.kv_cache_utils",
    "vllm.v1.core.kv_cache_planning",
    "vllm.v1.core.kv_cache_config_builder",
    "vllm.v1.core.single_type_kv_cache_manager",
)
CASES = [
    (draft, fp4, length, batched)
    for draft in (0, 1, 3)
    for fp4 in (False, True)
    for length, batched in ((30_000, 16_384), (1_048_576, 8192))
]


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads the real modules from a directory and makes up every other one of vLLM."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Say where a module comes from."""
        del path, target
        if fullname.partition(".")[0] not in {"vllm", "cbor2", "xxhash"}:
            return None
        file = self._root.joinpath(*fullname.split(".")).with_suffix(".py")
        if fullname in REAL:
            found = importlib.util.spec_from_file_location(fullname, file)
            return found if file.is_file() else None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Make a module in which everything is there."""
        made = ModuleType(spec.name)
        made.__path__ = []
        if spec.name not in {"vllm", "vllm.v1", "vllm.v1.core"}:
            made.__getattr__ = _anything  # type: ignore[method-assign]
        return made

    def exec_module(self, module: ModuleType) -> None:
        """Fill in what the real ones compute with."""
        known: dict[str, dict[str, Any]] = {
            "vllm.utils.math_utils": {
                "cdiv": lambda value, by: -(-value // by),
                "round_up": lambda value, by: -(-value // by) * by,
            },
            "vllm.utils.torch_utils": {"get_dtype_size": lambda dtype: dtype.itemsize},
            "vllm.v1.hisparse.layout": {"get_hisparse_kv_cache_groups": lambda *_: None},
            "vllm.v1.attention.backend": {"MultipleOf": type("MultipleOf", (), {})},
        }
        vars(module).update(known.get(module.__name__, {}))


def _anything(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return MagicMock(name=name)


def layers(ratios: Sequence[int], *, draft: int, fp4: bool) -> dict[str, Any]:
    """Return what each layer asks for, as the classes of DeepSeek-V4's model in vLLM do."""
    interface: Any = importlib.import_module("vllm.v1.kv_cache_interface")
    torch: Any = importlib.import_module("torch")
    common = {"alignment": 576, "num_kv_heads": 1, "max_tp_shards": 1}
    cached = {"cache_dtype_str": "fp8_ds_mla", "model_version": "deepseek_v4"}
    packed = {"dtype": torch.uint8, "state_content_bytes": 584, "head_size": 512, **cached}

    def full(ratio: int, **more: Any) -> Any:
        rate = {"compress_ratio": ratio, "tokens_per_state": ratio, "block_size": 256}
        return _spec(interface.MLAAttentionSpec, {**common, **rate, **more})

    def window(block: int, tokens: int, **more: Any) -> Any:
        seen = {"block_size": block, "sliding_window": tokens}
        return _spec(interface.SlidingWindowMLASpec, {**common, **seen, **more})

    found: dict[str, Any] = {}
    for layer, ratio in enumerate([*ratios, *[0] * draft]):
        found[f"{layer}.window"] = window(64, 128, **packed)
        wide = 2 if ratio == 4 else 1
        if ratio > 1:
            found[f"{layer}.cache"] = full(ratio, **packed)
            state = {"head_size": 2 * 512 * wide, "dtype": torch.float32}
            found[f"{layer}.state"] = window(8 // wide, 128 if wide == 1 else 8, **state)
        if ratio == 4:
            index = {"head_size": 68 if fp4 else 132, "dtype": torch.uint8}
            found[f"{layer}.index"] = full(4, **index)
            state = {"head_size": 2 * 128 * wide, "dtype": torch.float32}
            found[f"{layer}.index.state"] = window(4, 8, **state)
    return found


def _spec(kind: Any, values: dict[str, Any]) -> Any:
    """Make one with the fields that the release has."""
    known = {each.name for each in fields(kind)}
    return kind(**{name: value for name, value in values.items() if name in known})


def count(release: str, specs: dict[str, Any], length: int, batched: int) -> list[int]:
    """Return groups, bytes of a block and bytes of a request, by the release's own functions."""
    try:
        core: Any = importlib.import_module("vllm.v1.core.kv_cache_planning")
    except ModuleNotFoundError:
        core = importlib.import_module("vllm.v1.core.kv_cache_utils")
    outer = SimpleNamespace(
        is_block_outermost=True, is_block_compact=True, is_layer_compact=False, name="BLHNC"
    )
    config = SimpleNamespace(
        model_config=SimpleNamespace(max_model_len=length),
        parallel_config=SimpleNamespace(
            decode_context_parallel_size=1, prefill_context_parallel_size=1
        ),
        scheduler_config=SimpleNamespace(
            max_num_batched_tokens=batched, disable_hybrid_kv_cache_manager=False
        ),
        cache_config=SimpleNamespace(
            block_size=256,
            num_gpu_blocks_override=None,
            get_resolved_kv_cache_layout=lambda: outer,
        ),
        attention_config=SimpleNamespace(hisparse_config=None),
        kv_transfer_config=None,
        speculative_config=None,
        max_in_flight_tokens=batched * knowledge.accounting(release).in_flight,
    )
    groups = core.get_kv_cache_groups(config, specs)
    block = _block(core, config, groups)
    needed = core._max_memory_usage_bytes_from_groups
    if next(iter(inspect.signature(needed).parameters)) != "builder":
        return [len(groups), block, needed(config, groups)]
    blocks = sum(_blocks(each.kv_cache_spec, config) for each in groups)
    return [len(groups), block, block * blocks]


def _block(core: Any, config: Any, groups: Any) -> int:
    size = getattr(core, "_pool_bytes_per_block", None)
    if size is None:
        much = 1 << 50
        return much // int(core._get_kv_cache_config_deepseek_v4(config, groups, much)[0])
    takes = len(inspect.signature(size).parameters)
    return int(size(config, groups) if takes == 2 else size(groups))


def _blocks(spec: Any, config: Any) -> int:
    if hasattr(spec, "max_memory_usage_pages"):
        return int(spec.max_memory_usage_pages(config))
    return -(-int(spec.max_memory_usage_bytes(config)) // int(spec.page_size_bytes))


def ours(release: str, name: str, case: tuple[int, bool, int, int]) -> list[int]:
    """Return the same by ``launch``."""
    draft, fp4, length, batched = case
    built = replace(shape(Fields(knowledge.published(name) or {}, name)), draft_layers=draft)
    rules = knowledge.accounting(release)
    found = layout(built, rules, tensor=1, dtype="fp8", draft=bool(draft), fp4_index=fp4)
    groups = sum(each.count for each in found.groups)
    return [groups, found.block_bytes, found.needed(length, batched)]


def main() -> int:
    """Measure one release."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("tree", type=Path, help="sdist or directory of a vLLM release")
    tree, status = open_tree(parser.parse_args().tree), 0
    with tempfile.TemporaryDirectory() as directory:
        for module in REAL:
            file = f"{module.replace('.', '/')}.py"
            text = tree.text(file)
            if text is not None:
                path = Path(directory) / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
        sys.meta_path.insert(0, Finder(Path(directory)))
        for name in ("flash", "pro"):
            ratios = (knowledge.published(name) or {})["compress_ratios"]
            for case in CASES:
                draft, fp4, length, batched = case
                specs = layers(ratios, draft=draft, fp4=fp4)
                theirs = count(tree.version, specs, length, batched)
                print(json.dumps([tree.version, name, *case, *theirs]))
                if theirs != ours(tree.version, name, case):
                    print(f"launch counts {ours(tree.version, name, case)}", file=sys.stderr)
                    status = 1
    return status


if __name__ == "__main__":
    raise SystemExit(main())
