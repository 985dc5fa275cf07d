#!/usr/bin/env python3
"""Holds the inspector against NVIDIA's cuobjdump: architectures and kernel names of each object.

    scripts/compare_cuobjdump.py --cuobjdump PATH FILE...

A file is a wheel, a directory or an object. Prints a line for each object with device code, and
then how long each took for the architectures of all of them, in the same run. The status is 1 when
an object that cuobjdump reads is read differently here.

cuobjdump names code for a family (``sm_100f``) without its ``f``, which is left out on both sides.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from dsv4_doctor.binary.device_code import read_images
from dsv4_doctor.binary.payload import UndecodedError, read_kernels
from dsv4_doctor.binary.source import DiskFile
from dsv4_doctor.errors import InputError

ARCH = re.compile(r"arch = (sm_\d+[af]?)")
KERNEL = re.compile(r"STT_FUNC\s.*\bSTO_ENTRY\s+(\S+)")
OBJECT = re.compile(r"\.(?:so(?:\.[\d.]+)?|cubin|fatbin)$")
LISTED = re.compile(r"\.(sm_\d+[af]?)\.(?:cubin|ptx)$", re.MULTILINE)


@dataclass(frozen=True)
class Seen:
    """What one reader sees in one object: images by architecture, kernels also by name."""

    cubins: Counter[str]
    ptx: Counter[str]
    kernels: Counter[tuple[str, str]]


def ours(path: Path) -> Seen | str:
    """Return what the inspector sees, or why it sees nothing."""
    seen = Seen(Counter(), Counter(), Counter())
    try:
        with DiskFile(path) as source:
            for image in read_images(source).usable:
                arch = image.arch.sm.removesuffix("f")
                if image.kind == "ptx":
                    seen.ptx[arch] += 1
                elif image.kind == "cubin":
                    seen.cubins[arch] += 1
                    seen.kernels.update((arch, name) for name, _ in read_kernels(source, image))
    except (InputError, UndecodedError) as error:
        return str(error)
    return seen


def theirs(cuobjdump: str, path: Path) -> Seen | str:
    """Return what cuobjdump sees, or what it says instead."""
    outputs = []
    for option in ("--list-elf", "--list-ptx", "--dump-elf-symbols"):
        command = [cuobjdump, option, str(path)]
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, errors="replace"
        )
        complaint = next((each for each in done.stderr.splitlines() if "fatal" in each), "")
        if complaint or (done.returncode and "does not contain device code" not in done.stderr):
            return complaint or f"status {done.returncode}: {done.stderr.strip()[:100]}"
        outputs.append(done.stdout)
    kernels: Counter[tuple[str, str]] = Counter()
    arch = ""
    for line in outputs[2].splitlines():
        if found := ARCH.match(line):
            arch = found[1].removesuffix("f")
        elif kernel := KERNEL.match(line):
            kernels[arch, kernel[1]] += 1
    plain = [
        Counter(arch.removesuffix("f") for arch in LISTED.findall(each)) for each in outputs[:2]
    ]
    return Seen(plain[0], plain[1], kernels)


def objects_of(path: Path, scratch: Path) -> list[Path]:
    """Return the objects of a wheel (unpacked for cuobjdump), a directory or a file."""
    if path.suffix == ".whl":
        root = scratch / path.stem
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if OBJECT.search(name):
                    archive.extract(name, root)
        path = root
    if not path.is_dir():
        return [path]
    return sorted(each for each in path.rglob("*") if each.is_file() and OBJECT.search(each.name))


def compare(cuobjdump: str, path: Path) -> tuple[str, bool]:
    """Return a line about one object, empty without device code, and whether both agree."""
    mine, other = ours(path), theirs(cuobjdump, path)
    if isinstance(mine, str):
        return f"DIFFERS  {path.name}: not read here: {mine}", False
    if not mine.cubins and not mine.ptx:
        agrees = isinstance(other, Seen) and not other.cubins and not other.ptx
        return ("", True) if agrees else (f"DIFFERS  {path.name}: no device code here", False)
    what = (
        f"{path.name}: {sum(mine.cubins.values())} cubins, {sum(mine.ptx.values())} PTX, "
        f"{sum(mine.kernels.values())} kernels"
    )
    if isinstance(other, str):
        return f"ours     {what}; cuobjdump: {other}", True
    wrong = [
        name for name in ("cubins", "ptx", "kernels") if getattr(mine, name) != getattr(other, name)
    ]
    return f"{'DIFFERS ' if wrong else 'agrees  '} {what} {' '.join(wrong)}", not wrong


def seconds(commands: list[list[str]]) -> float:
    """Return the least wall time of three runs of some commands, one after the other."""
    times = []
    for _ in range(3):
        started = time.perf_counter()
        for command in commands:
            subprocess.run(command, capture_output=True, check=False)
        times.append(time.perf_counter() - started)
    return min(times)


def main() -> int:
    """Compare, print, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cuobjdump", required=True)
    parser.add_argument("files", nargs="+", type=Path)
    options = parser.parse_args()
    agree = True
    with tempfile.TemporaryDirectory() as scratch:
        for each in options.files:
            objects = objects_of(each, Path(scratch))
            print(each)
            for path in objects:
                line, same = compare(options.cuobjdump, path)
                agree &= same
                if line:
                    print(f"  {line}", flush=True)
            root = objects[0] if len(objects) == 1 else Path(scratch, each.stem)
            root = root if root.exists() else each
            doctor = seconds([[sys.executable, "-m", "dsv4_doctor", "inspect", str(root)]])
            nvidia = seconds([[options.cuobjdump, "--list-elf", str(path)] for path in objects])
            print(f"  architectures: {doctor:.2f} s here, {nvidia:.2f} s cuobjdump --list-elf")
    return 0 if agree else 1


if __name__ == "__main__":
    raise SystemExit(main())
