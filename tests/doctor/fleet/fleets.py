"""Documents of made-up hosts for tests."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.doctor.machines import healthy, python_environment

from dsv4_doctor.codec import dump_snapshot
from dsv4_doctor.evaluation import evaluate
from dsv4_doctor.fleet.judging import ABSENCE, Judge
from dsv4_doctor.knowledge import load
from dsv4_doctor.snapshot import Snapshot
from dsv4_doctor.target import Target

TARGET = Target("0.24.0", ("sm_90",), ("fa3",), "build")


def judge(*, by_file: bool = False, anew: bool = False) -> Judge:
    release = load.release(TARGET.release)
    return Judge(TARGET, release, by_file=by_file, anew=anew)


def machine(name: str, **changes: Any) -> Snapshot:
    """Return the healthy machine under another name."""
    made = healthy(**changes)
    assert made.host is not None
    return replace(made, host=replace(made.host, hostname=name))


def without_headers(name: str) -> Snapshot:
    return machine(name, python=python_environment(headers=None))


def report_of(snapshot: Snapshot) -> dict[str, Any]:
    return evaluate(snapshot, TARGET, load.release(TARGET.release)).to_json()


def absence(name: str, reason: str) -> dict[str, Any]:
    return {"schema": ABSENCE, "host": name, "reason": reason, "taken_at": "2026-11-29T13:00:00"}


def write(directory: Path, documents: dict[str, Snapshot | dict[str, Any] | str]) -> Path:
    """Write one file a document and return the directory."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in documents.items():
        if isinstance(content, Snapshot):
            text = dump_snapshot(content)
        else:
            text = content if isinstance(content, str) else json.dumps(content)
        (directory / name).write_text(text, encoding="utf-8")
    return directory
