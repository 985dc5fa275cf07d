#!/usr/bin/env python3
"""Damages real texts and reads them: ``fuzz_ingest.py DIRECTORY [--rounds N] [--seed N]``.

The directory holds files of collect_env and nvidia-smi. Two kinds of damage are done to each:

- lines are lost: what is left must give facts or the documented error, and no check may pass or
  fail that did not on the whole text;
- anything happens, bytes included: facts or the documented error, nothing else.

A text of a machine that is no target platform, or of several machines, is only damaged: losing
the line that says so leaves another text. Ends with 1 when a rule was broken.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.checks.registry import Context, run_checks
from dsv4_doctor.errors import InputError
from dsv4_doctor.ingest.load import parse
from dsv4_doctor.knowledge import load
from dsv4_doctor.target import Target

if TYPE_CHECKING:
    from dsv4_doctor.snapshot import Snapshot

RELEASE = "0.24.0"
PIECES = (b"\n", b"\0", b"\xff", b": ", b"|", b"<gpu>", b"</gpu>", b"&a;", b"N/A", b"\x1b[", b"{")


def main() -> int:
    """Run the rounds over every file and print what came of it."""
    arguments = _arguments()
    files = sorted(each for each in arguments.directory.iterdir() if each.is_file())
    chance = random.Random(arguments.seed)
    results: Counter[str] = Counter()
    broken: list[str] = []
    slowest = (0.0, "")
    for path in files:
        raw = path.read_bytes()
        whole = _read(raw)
        for number in range(arguments.rounds):
            started = time.perf_counter()
            result = _round(raw, whole, chance, lose=number % 2 == 0)
            slowest = max(slowest, (time.perf_counter() - started, path.name))
            results[result if result in {"facts", "error"} else "broken"] += 1
            if result not in {"facts", "error"}:
                broken.append(f"{path.name}, round {number}: {result}")
    print(f"{len(files)} files, {arguments.rounds} rounds each, seed {arguments.seed}")
    for name in ("facts", "error", "broken"):
        print(f"{results[name]:8} {name}")
    print(f"slowest round: {slowest[0]:.2f} s, {slowest[1]}")
    for line in broken[:20]:
        print(line)
    return 1 if broken else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def _read(raw: bytes) -> Snapshot | None:
    try:
        return parse(raw, "text")
    except InputError:
        return None


def _round(raw: bytes, whole: Snapshot | None, chance: random.Random, *, lose: bool) -> str:
    """Return ``facts``, ``error``, or which rule was broken."""
    damaged = _without_lines(raw, chance) if lose else _anything(raw, chance)
    try:
        found = parse(damaged, "text")
    except InputError:
        return "error"
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        return f"{type(error).__name__}: {error}"
    try:
        now = _statuses(found)
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        return f"check: {type(error).__name__}: {error}"
    if not lose or whole is None or whole.foreign or len(whole.origin) > 1:
        return "facts"
    before = _statuses(whole)
    for status in ("pass", "fail"):
        new = {each for each, is_ in now if is_ == status} - {
            each for each, is_ in before if is_ == status
        }
        if new and not (status == "pass" and _fewer_gpus(whole, found)):
            return f"{status} on less: {', '.join(sorted(new))}"
    return "facts"


def _statuses(snapshot: Snapshot) -> set[tuple[str, str]]:
    release = load.release(RELEASE)
    target = Target(RELEASE, (), ("deepseek-v4", "fa3"), "all", features_asked=False)
    return {(each.id, each.status) for each in run_checks(Context(snapshot, target, release))}


def _fewer_gpus(whole: Snapshot, found: Snapshot) -> bool:
    """Whether every line about a GPU is gone: a text of a machine that has fewer."""
    return len(found.gpus or ()) < len(whole.gpus or ())


def _without_lines(raw: bytes, chance: random.Random) -> bytes:
    lines = raw.splitlines(keepends=True)
    if chance.random() < 0.5:
        start = chance.randrange(len(lines) + 1)
        return b"".join(lines[:start] + lines[start + 1 + chance.randrange(5) :])
    share = chance.random() ** 2
    return b"".join(line for line in lines if chance.random() > share)


def _anything(raw: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.randrange(1, 6)):
        start = chance.randrange(len(raw) + 1)
        end = min(len(raw), start + chance.randrange(200))
        middle = chance.choice([b"", raw[start:end] * 2, *PIECES, chance.randbytes(8)])
        raw = raw[:start] + middle + raw[end:]
    return raw if chance.random() < 0.8 else raw[: chance.randrange(len(raw) + 1)]


if __name__ == "__main__":
    sys.exit(main())
