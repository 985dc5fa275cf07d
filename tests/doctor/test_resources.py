"""Data files are found as files, and inside an archive."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import dsv4_doctor
from dsv4_doctor.resources import files

PACKAGE = Path(dsv4_doctor.__file__).parent


def test_files_of_the_package() -> None:
    place = files("dsv4_doctor.knowledge")
    assert json.loads(place.joinpath("project.json").read_text(encoding="utf-8"))
    assert "releases" in {each.name for each in place.iterdir()}


def test_the_knowledge_inside_an_archive(tmp_path: Path) -> None:
    archive = tmp_path / "doctor.zip"
    with zipfile.ZipFile(archive, "w") as made:
        for path in PACKAGE.rglob("*"):
            if path.suffix in {".py", ".json"}:
                made.write(path, path.relative_to(PACKAGE.parent))
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]);"
        "from dsv4_doctor.knowledge import load;"
        "print(load.__file__, load.default_release().name, len(load.release_names()))"
    )
    command = [sys.executable, "-c", program, str(archive)]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    where, release, count = done.stdout.split()
    assert where.startswith(str(archive))
    assert release == "0.24.0"
    assert int(count) > 30
