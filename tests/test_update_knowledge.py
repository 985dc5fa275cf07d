"""``scripts/update_knowledge.py`` and ``extract_release.py``: nothing is written on an error."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.doctor.knowledge.extract import trees

SCRIPTS = Path(__file__).parents[1] / "scripts"
KNOWLEDGE = SCRIPTS.parent / "doctor" / "dsv4_doctor" / "knowledge"


def call(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPTS / script), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def state() -> dict[str, bytes]:
    return {str(each): each.read_bytes() for each in KNOWLEDGE.rglob("*.json")}


def truncated(path: Path) -> Path:
    path.write_bytes(trees.sdist(path).read_bytes()[:500])
    return path


@pytest.mark.parametrize("script", ["update_knowledge.py", "extract_release.py"])
def test_a_broken_sdist_is_an_error_and_writes_nothing(tmp_path: Path, script: str) -> None:
    before = state()
    action = ["--write"] if script == "extract_release.py" else []
    done = call(script, *action, str(truncated(tmp_path / "vllm.tar.gz")))
    assert done.returncode == 1
    assert "cannot be read as an sdist" in done.stderr
    assert done.stdout == ""
    assert state() == before


def test_an_sdist_with_gaps_or_a_checkout_writes_nothing(tmp_path: Path) -> None:
    before = state()
    done = call("update_knowledge.py", str(trees.sdist(tmp_path / "vllm.tar.gz")))
    assert done.returncode == 1
    assert "not everything could be established" in done.stderr
    assert "fa3: compute_majors" in done.stderr
    done = call("extract_release.py", "--write", str(trees.directory(tmp_path / "tree")))
    assert done.returncode == 1
    assert "from a release's sdist only" in done.stderr
    assert state() == before


def test_a_tree_is_printed_and_one_that_differs_is_said_to(tmp_path: Path) -> None:
    tree = str(trees.sdist(tmp_path / "vllm.tar.gz"))
    done = call("extract_release.py", tree)
    assert done.returncode == 0
    assert json.loads(done.stdout)["release"] == "0.24.0"
    done = call("extract_release.py", "--check", tree)
    assert done.returncode == 1
    assert "0.24.0.json: DIFFERS" in done.stderr
