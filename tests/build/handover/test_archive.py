from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from dsv4_build.handover.archive import Identity, identity, require_version
from dsv4_doctor.errors import BuildError

LOCAL = "0.24.0+cu130.sm90"


def _wheel(tmp_path: Path, *, file: str = LOCAL, inside: str = LOCAL, where: str = LOCAL) -> Path:
    wheel = tmp_path / f"vllm-{file}-cp38-abi3-linux_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        text = f"Metadata-Version: 2.4\nName: vllm\nVersion: {inside}\n\nText: none\n"
        archive.writestr(f"vllm-{where}.dist-info/METADATA", text)
    return wheel


def test_a_wheel_says_what_it_is(tmp_path: Path) -> None:
    wheel = _wheel(tmp_path)
    assert require_version(wheel, LOCAL) == Identity(
        "vllm", LOCAL, wheel.name, f"vllm-{LOCAL}.dist-info"
    )


@pytest.mark.parametrize("part", ["file", "inside", "where"])
def test_each_place_that_says_another_version_is_named(tmp_path: Path, part: str) -> None:
    with pytest.raises(BuildError, match=r"not 0\.24\.0\+cu130\.sm90: .*'0\.24\.0'"):
        require_version(_wheel(tmp_path, **{part: "0.24.0"}), LOCAL)


def test_a_file_that_is_no_wheel_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "w.whl").write_bytes(b"PK\3\4")
    with pytest.raises(BuildError, match="cannot be read"):
        identity(tmp_path / "w.whl")


def test_one_without_metadata_is_none(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "w.whl", "w") as archive:
        archive.writestr("vllm/__init__.py", "")
    with pytest.raises(BuildError, match="one METADATA, this has 0"):
        identity(tmp_path / "w.whl")
