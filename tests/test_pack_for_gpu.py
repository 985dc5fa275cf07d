"""What is packed for a machine without a network: enough for git, and no more."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.build.handover.test_materials import _git, _repository

import pack_for_gpu

pytestmark = pytest.mark.real


def _write(place: Path, **files: str) -> str:
    for name, text in files.items():
        file = place / name.replace("__", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    _git(place, "add", ".")
    _git(place, "commit", "-q", "-m", "more")
    return _git(place, "rev-parse", "HEAD")


@pytest.fixture
def packed(tmp_path: Path) -> tuple[Path, str, str]:
    """A pack of a project with one submodule that is there and one that is not."""
    mirror = tmp_path / "mirror"
    library, project = mirror / "owner" / "library.git", mirror / "owner" / "project.git"
    _repository(library)
    pinned = _write(library, include__header="header", docs__picture="picture")
    _write(library, include__header="newer")
    _repository(project)
    for name in ("library", "absent"):
        add = ("submodule", "add", "-q", "--name", name, str(library), f"lib/{name}")
        _git(project, *add)
    _git(project / "lib" / "library", "checkout", "-q", pinned)
    urls = (project / ".gitmodules").read_text().split(str(library))
    there, away = (f"https://github.com/owner/{name}.git" for name in ("library", "away"))
    (project / ".gitmodules").write_text(urls[0] + there + urls[1] + away + urls[2])
    # A blob that two paths share stays when one of them is read.
    commit = _write(project, csrc__kernel="kernel", docs__kernel="kernel", tests__big="big")
    for bare in (library, project):
        _git(bare, "config", "core.bare", "true")
    packing = pack_for_gpu.Packing(_bare(mirror, tmp_path / "bare"))
    packing.add("https://github.com/Owner/project.git", commit)
    target = tmp_path / "pack"
    target.mkdir()
    packing.write(target / "git")
    pack_for_gpu.write_configuration(packing, target)
    return target, commit, pinned


def _bare(mirror: Path, target: Path) -> Path:
    for each in sorted(mirror.glob("*/*.git")):
        place = target / each.relative_to(mirror)
        argv = ["git", "clone", "-q", "--mirror", str(each / ".git"), str(place)]
        subprocess.run(argv, check=True)
    return target


def _clone(pack: Path, home: Path, commit: str) -> Path:
    home.mkdir()
    text = (pack / "gitconfig").read_text().replace("@PACK@", str(pack))
    (home / ".gitconfig").write_text(text)
    environ = {"HOME": str(home), "PATH": "/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1"}
    place = home / "clone"
    url = "https://github.com/Owner/project.git"
    for argv in (
        ["git", "clone", "-q", "--no-checkout", url, str(place)],
        ["git", "-C", str(place), "checkout", "-q", commit, "--"],
        ["git", "-C", str(place), "submodule", "update", "-q", "--recursive", "--init"],
    ):
        subprocess.run(argv, check=True, env=environ)
    return place


def test_git_has_the_same_commits_from_a_pack(
    packed: tuple[Path, str, str], tmp_path: Path
) -> None:
    pack, commit, pinned = packed
    place = _clone(pack, tmp_path / "home", commit)
    assert _git(place, "rev-parse", "HEAD") == commit
    assert _git(place / "lib" / "library", "rev-parse", "HEAD") == pinned
    assert (place / "csrc" / "kernel").read_text() == "kernel"
    assert (place / "lib" / "library" / "include" / "header").read_text() == "header"


def test_what_no_build_reads_stays_behind(packed: tuple[Path, str, str], tmp_path: Path) -> None:
    pack, commit, _ = packed
    place = _clone(pack, tmp_path / "home", commit)
    assert not (place / "docs").exists()
    assert not (place / "tests").exists()
    assert not any((place / "lib" / "absent").iterdir())
    assert 'submodule "absent"' in (pack / "gitconfig").read_text()
    repository = pack / "git" / "owner" / "project.git"
    blob = _git(tmp_path / "bare" / "owner" / "project.git", "rev-parse", f"{commit}:tests/big")
    with pytest.raises(subprocess.CalledProcessError):
        _git(repository, "cat-file", "-e", blob)
