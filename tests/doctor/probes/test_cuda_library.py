"""Which libcuda the loader takes: its cache, LD_LIBRARY_PATH, default directories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from dsv4_doctor.facts.driver import CudaLibrary
from dsv4_doctor.probes import cuda_library

if TYPE_CHECKING:
    from pathlib import Path

X86_64 = 0x0303
X32 = 0x0803


def cache(*entries: tuple[str, str], flags: int = X86_64, before: bytes = b"") -> bytes:
    """Return an ld.so.cache with these names and paths, perhaps after one of the old format."""
    strings = bytearray()
    table = bytearray()
    base = 48 + 24 * len(entries)
    for name, path in entries:
        key = base + len(strings)
        strings += name.encode() + b"\0"
        value = base + len(strings)
        strings += path.encode() + b"\0"
        numbers = (flags, key, value, 0)
        table += b"".join(each.to_bytes(4, "little") for each in numbers) + bytes(8)
    counts = (len(entries), len(strings))
    header = b"glibc-ld.so.cache1.1" + b"".join(each.to_bytes(4, "little") for each in counts)
    return before + header.ljust(48, b"\0") + bytes(table + strings)


def library(root: Path, name: str, version: str, size: int = 8) -> Path:
    """Write a library with its versioned file, as a driver package does."""
    real = root / f"{name.partition('.')[0]}.so.{version}"
    real.parent.mkdir(parents=True, exist_ok=True)
    real.write_bytes(bytes(size))
    link = root / name
    link.symlink_to(real.name)
    return link


def install(root: Path, data: bytes) -> None:
    (root / "etc").mkdir(exist_ok=True)
    (root / "etc/ld.so.cache").write_bytes(data)


def test_the_cache_in_its_order() -> None:
    data = cache(("libcuda.so.1", "/a"), ("libc.so.6", "/c"), ("libcuda.so.1", "/b"))
    assert cuda_library.parse_cache(data, "x86_64") == {
        "libcuda.so.1": ["/a", "/b"],
        "libc.so.6": ["/c"],
    }


def test_libraries_of_other_architectures_are_not_taken() -> None:
    data = cache(("libcuda.so.1", "/x32"), flags=X32)
    assert cuda_library.parse_cache(data, "x86_64") == {}


def test_the_new_format_may_follow_the_old_one() -> None:
    data = cache(("libcuda.so.1", "/a"), before=b"ld.so-1.7.0" + bytes(25))
    assert cuda_library.parse_cache(data, "x86_64") == {"libcuda.so.1": ["/a"]}


@given(st.binary(max_size=400))
def test_any_bytes_as_cache(data: bytes) -> None:
    cuda_library.parse_cache(data, "x86_64")
    cuda_library.parse_cache(b"glibc-ld.so.cache1.1" + data, "x86_64")


def test_a_compat_library_that_the_cache_names_first(tmp_path: Path) -> None:
    library(tmp_path / "compat", "libcuda.so.1", "550.54.15", size=3)
    library(tmp_path / "driver", "libcuda.so.1", "580.95.05")
    install(
        tmp_path,
        cache(("libcuda.so.1", "/compat/libcuda.so.1"), ("libcuda.so.1", "/driver/libcuda.so.1")),
    )
    found = cuda_library.libcuda({}, tmp_path, "x86_64")
    assert [(each.version, each.found_by) for each in found] == [
        ("550.54.15", "ld.so.cache"),
        ("580.95.05", "ld.so.cache"),
    ]
    assert found[0].size == 3
    assert found[0].real == str(tmp_path / "compat/libcuda.so.550.54.15")


def test_the_variable_comes_before_the_cache_and_the_cache_before_the_defaults(
    tmp_path: Path,
) -> None:
    for name in ("named", "cached", "usr/lib/x86_64-linux-gnu"):
        library(tmp_path / name, "libcuda.so.1", "580.95.05")
    install(tmp_path, cache(("libcuda.so.1", "/cached/libcuda.so.1")))
    environ = {"LD_LIBRARY_PATH": f":/no/such:{tmp_path}/named"}
    found = cuda_library.libcuda(environ, tmp_path, "x86_64")
    assert [each.found_by for each in found] == [
        "LD_LIBRARY_PATH",
        "ld.so.cache",
        "default directory",
    ]


def test_one_file_counts_once(tmp_path: Path) -> None:
    link = library(tmp_path / "usr/lib/x86_64-linux-gnu", "libcuda.so.1", "580.95.05")
    (tmp_path / "lib").symlink_to("usr/lib")
    install(tmp_path, cache(("libcuda.so.1", "/lib/x86_64-linux-gnu/libcuda.so.1")))
    (found,) = cuda_library.libcuda({}, tmp_path, "x86_64")
    assert found.real == str(link.parent / "libcuda.so.580.95.05")


def test_a_stand_in_without_a_version(tmp_path: Path) -> None:
    directory = tmp_path / "usr/lib64"
    directory.mkdir(parents=True)
    (directory / "libcuda.so.1").write_bytes(bytes(100))
    place = str(directory / "libcuda.so.1")
    assert cuda_library.libcuda({}, tmp_path, "x86_64") == (
        CudaLibrary(place, place, None, "default directory", 100),
    )


def test_what_the_cache_names_may_be_gone(tmp_path: Path) -> None:
    install(tmp_path, cache(("libcuda.so.1", "/gone/libcuda.so.1")))
    assert cuda_library.libcuda({}, tmp_path, "x86_64") == ()


def test_the_version_of_nvml_is_in_the_name_of_its_file(tmp_path: Path) -> None:
    library(tmp_path / "usr/lib64", "libnvidia-ml.so.1", "550.107.02")
    assert cuda_library.nvml_version({}, tmp_path, "x86_64") == "550.107.02"
    assert cuda_library.nvml_version({}, tmp_path / "nowhere", "x86_64") is None


def test_the_name_that_a_linker_looks_for(tmp_path: Path) -> None:
    library(tmp_path / "usr/lib64", "libcuda.so.1", "580.95.05")
    found = cuda_library.libcuda({}, tmp_path, "x86_64")
    assert cuda_library.link_name(found, tmp_path) is None
    (tmp_path / "usr/lib64/libcuda.so").symlink_to("libcuda.so.1")
    assert cuda_library.link_name(found, tmp_path) == str(tmp_path / "usr/lib64/libcuda.so")
