"""The script that holds `diagnose` against public failures."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "diagnose_cases.py"
CASES = {
    "ceiling": ["unsupported GNU version! gcc versions later than 13 are not supported!"],
    "memory": ["Killed"],
    "nothing": ["all is well"],
}
RIGHT = {"ceiling": ["host.compiler.*"], "memory": ["build.memory.killed"], "nothing": []}


def _run(tmp_path: Path, expected: dict[str, list[str]]) -> subprocess.CompletedProcess[str]:
    cases = tmp_path / "cases.jsonl"
    lines = (json.dumps({"id": name, "key_errors": said}) for name, said in CASES.items())
    cases.write_text("\n".join(lines))
    table = tmp_path / "expected.json"
    table.write_text(json.dumps({"cases": expected}))
    argv = [sys.executable, str(SCRIPT), str(cases), "--expected", str(table)]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def test_all_right_is_status_0(tmp_path: Path) -> None:
    done = _run(tmp_path, RIGHT)
    assert done.returncode == 0
    assert "right cause first: 2 of 2 (100.0%)" in done.stdout


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [({"memory": ["driver.cuda.too-old"]}, "memory   wrong"), ({"nothing": ["x.y"]}, "nothing")],
)
def test_a_wrong_or_missing_cause_is_shown(
    tmp_path: Path, changed: dict[str, list[str]], verdict: str
) -> None:
    done = _run(tmp_path, {**RIGHT, **changed})
    assert done.returncode == 1
    assert verdict in done.stdout


def test_expected_signatures_exist() -> None:
    from fnmatch import fnmatchcase  # noqa: PLC0415

    from dsv4_doctor.knowledge.signature import signatures  # noqa: PLC0415

    ids = [each.id for each in signatures()]
    table = json.loads(SCRIPT.with_suffix(".json").read_text(encoding="utf-8"))["cases"]
    for patterns in table.values():
        for pattern in patterns:
            assert any(fnmatchcase(each, pattern) for each in ids), pattern
