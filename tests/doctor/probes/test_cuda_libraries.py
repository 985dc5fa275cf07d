"""Libraries that LD_LIBRARY_PATH puts before those of pip's wheels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.probes import cuda_libraries

if TYPE_CHECKING:
    from pathlib import Path


def touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")
    return path


def test_what_both_have_is_shadowed(tmp_path: Path) -> None:
    site = tmp_path.resolve() / "site-packages"
    touch(site / "nvidia/nvjitlink/lib/libnvJitLink.so.12")
    touch(site / "nvidia/cublas/lib/libcublas.so.12")
    old = touch(tmp_path.resolve() / "cuda/lib64/libnvJitLink.so.12.1.105")
    (old.parent / "libnvJitLink.so.12").symlink_to(old)
    touch(old.parent / "libother.so.12")
    touch(old.parent / "libcusparse.so.12")
    environ = {"LD_LIBRARY_PATH": f"/gone::{old.parent}"}
    assert cuda_libraries.shadowed(environ, [site]) == {"libnvJitLink.so.12": str(old)}
    assert cuda_libraries.shadowed({}, [site]) == {}
    assert cuda_libraries.shadowed(environ, []) == {}


def test_pips_own_directory_shadows_nothing(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    own = touch(site / "nvidia/cu13/lib/libcudart.so.13").parent
    assert cuda_libraries.shadowed({"LD_LIBRARY_PATH": str(own)}, [site]) == {}
