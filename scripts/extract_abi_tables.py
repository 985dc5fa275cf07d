#!/usr/bin/env python3
"""Writes knowledge/linkage.json and knowledge/stable_abi.json from packages that hold the facts.

Needs auditwheel (the manylinux policies) and abi3info (CPython's Misc/stable_abi.toml as data):

    pip install --target TABLES auditwheel abi3info
    PYTHONPATH=TABLES scripts/extract_abi_tables.py
"""

from __future__ import annotations

import json
from collections import defaultdict
from importlib import import_module
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

KNOWLEDGE = Path(__file__).parents[1] / "doctor" / "dsv4_doctor" / "knowledge"
POLICY = "policy/manylinux-policy.json"
LIMITED = ("GLIBC", "GLIBCXX", "CXXABI")
# What libraries' names say and no table has; each with what was read.
LIBRARIES = {
    # The number after .so is the major version of CUDA.
    "cuda_numbered": {
        "names": ["libcudart", "libcublas", "libcublasLt", "libnvrtc", "libnvJitLink"],
        "at": {
            "project": "torch",
            "release": "2.11.0",
            "file": "DT_NEEDED in the wheels of torch 2.11.0 (13) and vLLM 0.7.2 (12)",
        },
    },
    # Interfaces in C: none of them can define a C++ symbol that an extension lacks.
    "interfaces_in_c": {
        "names": [
            *("libc", "libm", "libdl", "libpthread", "librt", "libgcc_s", "libnuma"),
            *("ld-linux-x86-64", "ld-linux-aarch64"),
            *("libcuda", "libcudart", "libcublas", "libcublasLt", "libnvrtc", "libnvJitLink"),
            *("libcusparse", "libcusolver", "libcurand", "libcufft", "libnccl", "libcupti"),
            *("libcudnn", "libnvshmem_host"),
        ],
        "at": {
            "project": "cuda-toolkit",
            "release": "13.0",
            "file": "nm -D --defined-only shows no mangled name in its wheels for torch 2.11.0 nor "
            "in Debian's system libraries for x86_64; cuda.h, for libcuda, declares extern C",
        },
    },
}


def policies() -> list[dict[str, Any]]:
    """Return the newest version of each symbol family that each manylinux tag allows."""
    text = files(import_module("auditwheel")).joinpath(POLICY).read_text(encoding="utf-8")
    return [
        {"name": each["name"], "aliases": each["aliases"], "limits": _limits(each)}
        for each in json.loads(text)
        if each["name"].startswith("manylinux")
    ]


def _limits(policy: dict[str, Any]) -> dict[str, dict[str, str]]:
    return {
        machine: {family: _newest(versions[family]) for family in LIMITED if family in versions}
        for machine, versions in policy["symbol_versions"].items()
        if machine in {"x86_64", "aarch64"}
    }


def _newest(versions: list[str]) -> str:
    numbered = [each for each in versions if each.replace(".", "").isdecimal()]
    return max(numbered, key=lambda each: tuple(map(int, each.split("."))))


def stable_abi() -> dict[str, list[str]]:
    """Return the symbols of the stable ABI by the Python release that added them."""
    table = import_module("abi3info")
    added = defaultdict(list)
    for each in (*table.FUNCTIONS.values(), *table.DATAS.values()):
        added[f"{each.added.major}.{each.added.minor}"].append(each.symbol.name)
    order = sorted(added, key=lambda each: int(each.partition(".")[2]))
    return {each: sorted(added[each]) for each in order}


def write(name: str, document: dict[str, Any]) -> None:
    """Write one knowledge file."""
    text = json.dumps(document, indent=1) + "\n"
    (KNOWLEDGE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    tag_source = {"project": "auditwheel", "release": version("auditwheel"), "file": POLICY}
    linkage = {"schema": "dsv4-doctor/linkage/1", "manylinux": policies(), "at": tag_source}
    write("linkage.json", {**linkage, **LIBRARIES})
    abi_source = {
        "project": "cpython",
        "release": "main",
        "file": f"Misc/stable_abi.toml, in abi3info {version('abi3info')}",
    }
    abi = {"schema": "dsv4-doctor/stable-abi/1", "at": abi_source, "added": stable_abi()}
    write("stable_abi.json", abi)
