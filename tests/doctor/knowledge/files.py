"""The knowledge files as they are on disk, for tests that look at the JSON itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dsv4_doctor.knowledge
from dsv4_doctor.knowledge.packed import unpack

ROOT = Path(dsv4_doctor.knowledge.__file__).parent
RELEASES = sorted((ROOT / "releases").glob("*.json"))
PROFILES = sorted((ROOT / "profiles").glob("*.json"))
NAMES = (
    "cuda",
    "cuda_parts",
    "cuda_errors",
    "features",
    "gpu_archs",
    "gpus",
    "kernels",
    "launch",
    "linkage",
    "machine",
    "models",
    "project",
    "stable_abi",
    "stack",
    "torch",
)
# Tables over releases, whose places are written in a form of their own, and names of kernels.
TABLES = [
    ROOT / f"{name}.json"
    for name in (
        "compiled",
        "deepseek_v4",
        "docker",
        "flags",
        "kernel_families",
        "packages",
        "variables",
    )
]
OTHERS = [ROOT / f"{name}.json" for name in NAMES]


def read(path: Path) -> dict[str, Any]:
    """Read one file, refusing a key that stands twice, which json would drop in silence."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in pairs]
        assert len(keys) == len(set(keys)), f"{path.name}: a key twice in {keys}"
        return dict(pairs)

    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=unique)
    return unpack(content) if path.parent.name == "releases" else content


def places(data: Any, trail: str = "") -> Iterator[tuple[str, Any]]:
    """Give every place in a file with the trail of keys to it."""
    if isinstance(data, dict):
        for key, value in data.items():
            here = f"{trail}/{key}"
            if key in {"at", "driver_at", "ptx_at", "archs_at", "origin"}:
                yield from (
                    (here, each) for each in (value if isinstance(value, list) else [value])
                )
            else:
                yield from places(value, here)
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from places(value, f"{trail}/{index}")
