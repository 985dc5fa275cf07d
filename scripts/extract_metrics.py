#!/usr/bin/env python3
"""Reads in vLLM's source distributions what the metrics of ``knowledge/metrics.json`` are called.

    scripts/extract_metrics.py vllm-0.6.0.tar.gz vllm-0.6.1.tar.gz …     prints what differs
    scripts/extract_metrics.py --write vllm-*.tar.gz                     writes it

Of each name the runs of releases and the line in the newest of them are read anew; which names
there are, and what they mean, is kept by hand. Nothing of a tree is run.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tarfile
from pathlib import Path
from typing import Any

from packaging.version import Version

PLACE = Path(__file__).parents[1] / "doctor/dsv4_doctor/knowledge/metrics.json"
FILES = ("vllm/v1/metrics/loggers.py", "vllm/engine/metrics.py")
_NAME = re.compile(r"\"(vllm:\w+)\"")
_SDIST = re.compile(r"vllm-(\d[\w.]*?)\.tar\.gz")

Found = dict[str, dict[str, tuple[str, int]]]


def declared(sdist: Path) -> dict[str, tuple[str, int]]:
    """Return the metrics of one release, each with the file and line of its name."""
    found: dict[str, tuple[str, int]] = {}
    with tarfile.open(sdist) as archive:
        texts = {
            name: file.read().decode("utf-8", "replace")
            for member in archive
            if (name := member.name.partition("/")[2]) in FILES
            and (file := archive.extractfile(member)) is not None
        }
    for name in FILES:
        for number, line in enumerate(texts.get(name, "").splitlines(), 1):
            for metric in _NAME.findall(line):
                found.setdefault(metric, (name, number))
    return found


def runs(having: list[str], known: list[str]) -> str:
    """Return releases as runs over all that are known, such as ``0.6.0..0.9.2 0.10.0``."""
    parts: list[list[str]] = []
    for name in having:
        at = known.index(name)
        if parts and known[at - 1] == parts[-1][-1]:
            parts[-1].append(name)
        else:
            parts.append([name])
    return " ".join(each[0] if len(each) == 1 else f"{each[0]}..{each[-1]}" for each in parts)


def renewed(data: dict[str, Any], by_release: Found) -> dict[str, Any]:
    """Return the knowledge with releases and places as they were read."""
    known = sorted(by_release, key=Version)
    new: dict[str, Any] = json.loads(json.dumps(data))
    new["releases"] = [known[0], known[-1]]
    for entry in (*(name for each in new["metrics"] for name in each["names"]), new["info"]):
        having = [each for each in known if entry["name"] in by_release[each]]
        if not having:
            continue
        file, line = by_release[having[-1]][entry["name"]]
        entry["in"] = runs(having, known)
        entry["at"] = {"project": "vllm", "release": having[-1], "file": file, "line": line}
    return new


def main(arguments: list[str]) -> int:
    """Read the distributions; the exit status is 1 when something differs and is not written."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sdist", nargs="+", type=Path)
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args(arguments)
    by_release: Found = {}
    for path in chosen.sdist:
        match = _SDIST.fullmatch(path.name)
        if match is None:
            parser.error(f"{path}: no source distribution of vLLM by its name")
        by_release[match[1]] = declared(path)
    old = json.loads(PLACE.read_text(encoding="utf-8"))
    new = renewed(old, by_release)
    if new == old:
        return 0
    if chosen.write:
        PLACE.write_text(json.dumps(new, indent=2) + "\n", encoding="utf-8")
        return 0
    for before, after in zip(old["metrics"], new["metrics"], strict=True):
        if before != after:
            print(f"{before['id']}: {json.dumps(after['names'])}")
    return 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
