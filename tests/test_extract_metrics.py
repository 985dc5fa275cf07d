"""The names of metrics, read in source distributions."""

from __future__ import annotations

import io
import json
import tarfile
from typing import TYPE_CHECKING

import pytest

import extract_metrics

if TYPE_CHECKING:
    from pathlib import Path

KNOWN = {
    "schema": "x",
    "releases": ["0.1.0", "0.1.0"],
    "metrics": [{"id": "used", "names": [{"name": "vllm:new"}, {"name": "vllm:old"}]}],
    "info": {"name": "vllm:info"},
}


def sdist(directory: Path, release: str, **files: str) -> str:
    path = directory / f"vllm-{release}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            where = {"engine": "vllm/engine/metrics.py", "v1": "vllm/v1/metrics/loggers.py"}[name]
            member = tarfile.TarInfo(f"vllm-{release}/{where}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return str(path)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "metrics.json"
    path.write_text(json.dumps(KNOWN))
    monkeypatch.setattr(extract_metrics, "PLACE", path)
    return path


def test_runs_and_the_newest_line_are_read(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [
        sdist(tmp_path, "0.9.0", engine='x = "vllm:old"\ny = "vllm:info"\n'),
        sdist(tmp_path, "0.10.0", v1='\n\nname="vllm:new",\n', engine='x = "vllm:old"\n'),
        sdist(tmp_path, "0.11.0", v1='name="vllm:new",\n"vllm:info"\n'),
    ]
    assert extract_metrics.main(texts) == 1
    assert capsys.readouterr().out.startswith("used: ")
    assert extract_metrics.main(["--write", *texts]) == 0
    data = json.loads(place.read_text())
    new, old = data["metrics"][0]["names"]
    assert (new["in"], new["at"]["release"], new["at"]["line"]) == ("0.10.0..0.11.0", "0.11.0", 1)
    assert (old["in"], old["at"]["file"]) == ("0.9.0..0.10.0", "vllm/engine/metrics.py")
    assert data["info"]["in"] == "0.9.0 0.11.0"
    assert data["releases"] == ["0.9.0", "0.11.0"]
    assert extract_metrics.main(texts) == 0


def test_another_file_is_refused(place: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        extract_metrics.main([str(tmp_path / "x.whl")])
