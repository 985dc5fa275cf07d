#!/usr/bin/env python3
"""Writes which environment variables NCCL and torch read, from their own files.

    scripts/extract_runtime_variables.py --torch DIR --nccl VERSION=libnccl.so.2 [--nccl …]

DIR is a directory ``torch`` of an installed wheel. NCCL's macro for a parameter puts the whole name
into the library as a text, and so do torch's calls; what else begins so there (names of enumerators
and of the subsystems of NCCL_DEBUG_SUBSYS) is left out by the pattern below. What CUDA's driver
reads is not in a file that could be read, and stands in the page that is named, by hand.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

PLACE = Path(__file__).parents[1] / "doctor/dsv4_doctor/knowledge/runtime_variables.json"
_NOT_VARIABLES = re.compile(
    r"NCCL_(LOG|PARAM|GIN_TYPE|GIN_CONNECTION|NET_DEVICE|NET_MERGE_POLICY|CTA_POLICY)_\w+"
    r"|NCCL_\w+_REF_COUNT|NCCL_(ALL|ALLOC|BOOTSTRAP|CALL|COLL|DESTROY|ENV|GRAPH|INIT|NVLS|P2P"
    r"|PROFILE|PROXY|RAS|REG|SHM|SIGNAL|TUNING|SIGNAL_NONE|IB_SL_DEFAULT|IB_TC_DEFAULT)"
    r"|PYTORCH_(TEST|OPINFO|HYPOTHESIS|TESTING|OPCHECK|DEBUG)\w*"
)
_LIBRARIES = ("c10", "c10_cuda", "torch_cpu", "torch_cuda", "torch_python")


def names_of(content: bytes, prefix: str) -> set[str]:
    """Return the texts of a binary that are names with a prefix, and nothing else."""
    pattern = rb"(?<=\0)" + prefix.encode() + rb"[A-Z0-9_]+(?=\0)"
    return {each.decode() for each in re.findall(pattern, content)}


def nccl(libraries: dict[str, Path]) -> dict[str, Any]:
    """Return the entry of NCCL over several of its releases."""
    names = {name for path in libraries.values() for name in names_of(path.read_bytes(), "NCCL_")}
    places = [
        {"project": "nvidia-nccl", "release": version, "file": "nccl/lib/libnccl.so.2: its texts"}
        for version in libraries
    ]
    return _entry("NCCL_", "NCCL", names, places)


def torch(directory: Path) -> dict[str, Any]:
    """Return the entry of torch: the texts of its libraries, and of its Python files."""
    names: set[str] = set()
    for each in _LIBRARIES:
        names |= names_of((directory / f"lib/lib{each}.so").read_bytes(), "PYTORCH_")
    for path in directory.rglob("*.py"):
        found = re.findall(r"[\"'](PYTORCH_[A-Z0-9_]+)[\"']", path.read_text("utf-8", "replace"))
        names.update(found)
    version = re.search(r"__version__ = '([^'+]+)", (directory / "version.py").read_text("utf-8"))
    release = version[1] if version else ""
    place = {
        "project": "torch",
        "release": release,
        "file": "torch/lib, torch/**/*.py: their texts",
    }
    return _entry("PYTORCH_", "torch", names, [place])


def _entry(prefix: str, reader: str, names: set[str], places: list[Any]) -> dict[str, Any]:
    kept = sorted(name for name in names if not _NOT_VARIABLES.fullmatch(name))
    return {"prefix": prefix, "reader": reader, "names": " ".join(kept), "at": places}


def main() -> int:
    """Write the file anew; what stands there for CUDA is kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--torch", type=Path, required=True)
    parser.add_argument("--nccl", action="append", required=True)
    chosen = parser.parse_args()
    libraries = {
        version: Path(path) for version, _, path in (each.partition("=") for each in chosen.nccl)
    }
    data = json.loads(PLACE.read_text("utf-8"))
    kept = [each for each in data["readers"] if each["reader"] == "CUDA"]
    data["readers"] = [nccl(libraries), torch(chosen.torch), *kept]
    PLACE.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
