from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from tests.build.toolchain import fake

from dsv4_build.compilers import HostCompiler
from dsv4_build.toolchain import install, pypi
from dsv4_doctor.errors import BuildError

COMPILER = HostCompiler(shutil.which("cc") or "cc", "c++", "c++", "the test")


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that pip takes everything from, and no network."""
    directory = tmp_path / "wheels"
    directory.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(directory))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return directory


def test_a_complete_tree_is_made_once(tmp_path: Path, wheels: Path) -> None:
    selection, said = fake.selection(wheels), list[str]()
    with pytest.raises(BuildError, match="is not there, and --offline fetches nothing"):
        pypi.require(selection, tmp_path / "cache")
    tree = pypi.assemble(selection, COMPILER, cache=tmp_path / "cache", say=said.append)
    pypi.require(selection, tmp_path / "cache")
    assert tree == pypi.place(selection, tmp_path / "cache")
    assert os.readlink(tree / "lib64") == "lib"  # noqa: PTH115
    assert os.readlink(tree / "lib" / "libcudart.so") == "libcudart.so.13"  # noqa: PTH115
    assert (tree / "lib64" / "stubs" / "libcuda.so").is_file()
    assert os.access(tree / "bin" / "nvcc", os.X_OK)
    manifest = json.loads((tree / "version.json").read_text())
    assert manifest["cuda"]["version"] == "13.0.2"
    assert manifest["nvidia-cuda-runtime"]["version"] == "13.0.96"
    assert any("nvidia-cuda-nvcc 13.0.88" in line for line in said)
    shutil.rmtree(wheels)
    assert pypi.assemble(selection, COMPILER, cache=tmp_path / "cache") == tree


@pytest.mark.parametrize(
    ("files", "part"),
    [
        (fake.programs(ptxas="13.5.37"), "bin/ptxas of the assembled toolkit is 13.5.37"),
        (fake.programs(cicc="13.5.37"), "nvvm/bin/cicc of the assembled toolkit is 13.5.37"),
        (
            fake.programs() | {"include/cuda.h": fake.CUDA_H.replace("13000", "13050")},
            "include/cuda.h of the assembled toolkit is 13.5",
        ),
        (
            fake.programs() | {"bin/nvcc": "#!/bin/sh\necho V13.0.88; [ $1 = --version ]\n"},
            "does not compile",
        ),
    ],
)
def test_parts_that_do_not_belong_together_are_never_used(
    tmp_path: Path, wheels: Path, files: dict[str, str], part: str
) -> None:
    with pytest.raises(BuildError, match=part):
        pypi.assemble(fake.selection(wheels, files), COMPILER, cache=tmp_path / "cache")
    left = [each.name for each in (tmp_path / "cache" / "toolchains").iterdir()]
    assert [name for name in left if not name.endswith((".lock", ".log"))] == []


def test_a_part_that_is_not_to_be_had_is_named_with_the_way_out(
    tmp_path: Path, wheels: Path
) -> None:
    selection = fake.selection(wheels)
    next(wheels.glob("nvidia_cuda_runtime*")).unlink()
    with pytest.raises(BuildError, match=r"nvidia-cuda-runtime==13\.0\.96") as caught:
        pypi.assemble(selection, COMPILER, cache=tmp_path / "cache")
    assert "PIP_FIND_LINKS" in caught.value.hint


def test_a_part_that_was_changed_on_the_way_is_refused(tmp_path: Path, wheels: Path) -> None:
    selection = fake.selection(wheels)
    fake.wheel(wheels, "nvidia-cuda-runtime", "13.0.96", {"lib/libcudart.so.13": "another"})
    with pytest.raises(BuildError, match="its hash differs"):
        pypi.assemble(selection, COMPILER, cache=tmp_path / "cache")


def test_wheels_of_another_layout_are_refused(tmp_path: Path, wheels: Path) -> None:
    with pytest.raises(BuildError, match="laid out in another way"):
        pypi.assemble(fake.selection(wheels, {"lib/a": ""}), COMPILER, cache=tmp_path / "cache")


def test_what_a_killed_process_left_is_swept(tmp_path: Path, wheels: Path) -> None:
    selection = fake.selection(wheels)
    place = pypi.place(selection, tmp_path / "cache")
    stage = place.with_name(f".{place.name}.stage-dead")
    stage.mkdir(parents=True)
    pypi.assemble(selection, COMPILER, cache=tmp_path / "cache")
    assert not stage.exists()


def test_a_cache_that_cannot_be_written(tmp_path: Path, wheels: Path) -> None:
    (tmp_path / "cache").touch()
    with pytest.raises(BuildError, match="cannot be locked"):
        pypi.assemble(fake.selection(wheels), COMPILER, cache=tmp_path / "cache")


def test_every_part_is_held_against_its_hash(tmp_path: Path) -> None:
    argv = install.installer(tmp_path / "target", tmp_path / "requirements")
    assert {"--require-hashes", "--no-deps", f"{tmp_path}/target"} <= set(argv)


def test_the_index_is_the_users_own(tmp_path: Path) -> None:
    argv = install.installer(tmp_path / "target", tmp_path / "requirements")
    options = [argument for argument in argv if argument.startswith("-")]
    assert not any("index" in option or option in {"-i", "-f"} for option in options)
