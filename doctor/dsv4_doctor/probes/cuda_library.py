"""Which ``libcuda.so.1`` the loader takes, and what NVML's library is called, without loading."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.facts.driver import CudaLibrary
from dsv4_doctor.probes import files

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_FILESYSTEM = Path("/")
_CUDA = "libcuda.so.1"
_NVML = "libnvidia-ml.so.1"

_VERSION = r"\.so\.(\d{3,4}(?:\.\d{1,3}){1,2})$"
# Entries of the new format of ld.so.cache follow this header; the old one may stand before it.
_MAGIC = b"glibc-ld.so.cache1.1"
_HEADER = 48
_ENTRY = 24
_CACHE_LIMIT = 16 << 20
# Bit of an entry that says ELF with glibc, and the bits of the architecture.
_ELF_LIBC6 = 3
_ARCHITECTURES = {"x86_64": 0x0300, "aarch64": 0x0A00, "ppc64le": 0x0500, "s390x": 0x0400}
_DIRECTORIES = ("lib64", "usr/lib64", "lib", "usr/lib")


def libcuda(
    environ: Mapping[str, str], filesystem: Path = _FILESYSTEM, machine: str = ""
) -> tuple[CudaLibrary, ...]:
    """Return every ``libcuda.so.1``, the one that the loader takes first.

    Args:
        environ: Environment of the program that would load it.
        filesystem: Where ``/etc/ld.so.cache`` and the default directories are.
        machine: As ``uname -m``; that of this machine when empty.
    """
    found = _candidates(_CUDA, environ, filesystem, machine or os.uname().machine)
    made = []
    for path, by in dict.fromkeys(found):
        real = _real(path)
        version = re.search(_VERSION, real)
        made.append(CudaLibrary(path, real, version[1] if version else None, by, _size(real)))
    return tuple(made)


def nvml_version(
    environ: Mapping[str, str], filesystem: Path = _FILESYSTEM, machine: str = ""
) -> str | None:
    """Return the version in the file name of the NVML library that the loader takes."""
    found = _candidates(_NVML, environ, filesystem, machine or os.uname().machine)
    path = next((path for path, _ in found), None)
    version = re.search(_VERSION, _real(path)) if path is not None else None
    return version[1] if version else None


def link_name(libraries: Iterable[CudaLibrary], filesystem: Path = _FILESYSTEM) -> str | None:
    """Return a ``libcuda.so`` that a linker finds for ``-lcuda``: the loader's name has a number.

    Args:
        libraries: Beside them it is looked for first.
        filesystem: Where the linker's default directories are.
    """
    beside = [Path(each.path).parent for each in libraries]
    multiarch = filesystem / "usr/lib" / f"{os.uname().machine}-linux-gnu"
    defaults = [multiarch, *(filesystem / each for each in _DIRECTORIES)]
    found = files.first_file(each / "libcuda.so" for each in (*beside, *defaults))
    return str(found) if found is not None else None


def parse_cache(data: bytes, machine: str) -> dict[str, list[str]]:
    """Read ``ld.so.cache``: the paths of each library of this architecture, in its order.

    The format is glibc's ``struct cache_file_new`` in ``sysdeps/generic/dl-cache.h``: a header of
    48 bytes, then entries of flags, offsets of name and path, and hardware capabilities.
    """
    start = data.find(_MAGIC)
    if start < 0:
        return {}
    header = data[start : start + _HEADER]
    if len(header) < _HEADER:
        return {}
    count = int.from_bytes(header[20:24], "little")
    wanted = _ARCHITECTURES.get(machine)
    paths: dict[str, list[str]] = {}
    for index in range(min(count, (len(data) - start - _HEADER) // _ENTRY)):
        entry = data[start + _HEADER + index * _ENTRY :][:_ENTRY]
        flags, key, value = (int.from_bytes(entry[at : at + 4], "little") for at in (0, 4, 8))
        if flags & 0xFF != _ELF_LIBC6 or (wanted is not None and flags & 0xFF00 != wanted):
            continue
        name, path = _string(data, start + key), _string(data, start + value)
        if name and path:
            paths.setdefault(name, []).append(path)
    return paths


def _candidates(
    name: str, environ: Mapping[str, str], filesystem: Path, machine: str
) -> list[tuple[str, str]]:
    multiarch = f"{machine}-linux-gnu"
    directories = (f"lib/{multiarch}", f"usr/lib/{multiarch}", *_DIRECTORIES)
    # An empty entry of the variable means the current directory, where no driver is.
    named = filter(None, re.split("[:;]", environ.get("LD_LIBRARY_PATH", "")))
    places = [
        *((Path(each) / name, "LD_LIBRARY_PATH") for each in named),
        *(
            (filesystem / each.lstrip("/"), "ld.so.cache")
            for each in _cached(name, filesystem, machine)
        ),
        *((filesystem / each / name, "default directory") for each in directories),
    ]
    # What the cache names may be gone: the loader then goes on.
    return _first_of_each([(str(place), by) for place, by in places if files.is_file(place)])


def _cached(name: str, filesystem: Path, machine: str) -> list[str]:
    try:
        with (filesystem / "etc/ld.so.cache").open("rb") as file:
            data = file.read(_CACHE_LIMIT)
    except OSError:
        return []
    # Most caches name no driver: one search for the bytes spares the reading of all entries.
    return parse_cache(data, machine).get(name, []) if name.encode() in data else []


def _first_of_each(found: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the libraries without those that are the same file as one before."""
    seen: set[str] = set()
    kept = []
    for path, by in found:
        real = _real(path)
        if real not in seen:
            seen.add(real)
            kept.append((path, by))
    return kept


def _string(data: bytes, start: int) -> str:
    end = data.find(b"\0", start, start + 4096)
    return data[start:end].decode("utf-8", "replace") if 0 <= start <= end else ""


def _real(path: str) -> str:
    return os.path.realpath(path)


def _size(path: str) -> int | None:
    try:
        return Path(path).stat().st_size
    except OSError:
        return None
