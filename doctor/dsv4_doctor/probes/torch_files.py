"""What the libraries of an installed torch say of its build, read as bytes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.facts.python import TorchBuild
from dsv4_doctor.probes import files, torch_build

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ARCHS = re.compile(rb"sm_\d{2,3}[af]?(?: (?:sm|compute)_\d{2,3}[af]?)*(?=\0)")
# The string constants of libtorch_python.so 2.11.0 have 1 MB.
_MAX_CONSTANTS = 32 << 20
# libc10.so 2.11.0 has 1.5 MB.
_MAX_C10 = 32 << 20

# c10::Error's constructor, whose last parameter is a string; the old ABI writes it ``Ss``.
_OLD_ABI = b"_ZN3c105ErrorC2ENS_14SourceLocationESs\0"
_NEW_ABI = b"_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_string"


def builds(roots: Iterable[Path]) -> tuple[TorchBuild, ...]:
    """Return every torch below the roots, the one that is imported first."""
    return tuple(_builds(roots))


def with_library(build: TorchBuild) -> TorchBuild:
    """Return a build with what its libraries say: architectures and C++ ABI."""
    libraries = Path(build.path).parent / "lib"
    archs = arch_list(libraries / "libtorch_python.so") if build.cuda is not None else ()
    abi = cxx11_abi(libraries / "libc10.so")
    return TorchBuild(build.version, build.cuda, build.hip, build.path, archs, abi)


def arch_list(library: Path) -> tuple[str, ...]:
    """Return the list that ``torch.cuda.get_arch_list()`` gives, empty when it is not found.

    It is a string constant of ``libtorch_python.so`` (torch 2.11, ``torch/csrc/cuda/Module.cpp``,
    ``CUDA_ARCH_FLAGS``): ``sm_75 sm_80 sm_86 sm_90 sm_100 sm_120``.
    """
    from dsv4_doctor.binary.elf import read_elf  # noqa: PLC0415 - only where torch is installed
    from dsv4_doctor.binary.source import DiskFile  # noqa: PLC0415
    from dsv4_doctor.errors import InputError  # noqa: PLC0415

    try:
        with DiskFile(library) as source:
            elf = read_elf(source)
            for _, section in elf.named(frozenset({".rodata"})):
                if section.size <= _MAX_CONSTANTS:
                    return parse_archs(elf.content(section))
    except InputError:
        # Damaged or gone: what it would have said is not known.
        pass
    return ()


def parse_archs(constants: bytes) -> tuple[str, ...]:
    """Return the longest list of architectures among string constants."""
    lists = _ARCHS.findall(constants)
    longest = max(lists, key=len, default=b"")
    return tuple(longest.decode("ascii").split())


def cxx11_abi(library: Path) -> bool | None:
    """Return whether ``libc10.so`` takes C++11's strings, ``None`` when it does not tell."""
    try:
        with library.open("rb") as file:
            content = file.read(_MAX_C10)
    except OSError:
        return None
    old, new = _OLD_ABI in content, _NEW_ABI in content
    return new if old != new else None


def _builds(roots: Iterable[Path]) -> Iterator[TorchBuild]:
    for root in roots:
        path = root / "torch/version.py"
        text = files.read(path)
        build = torch_build.parse(text, str(path)) if text is not None else None
        if build is not None:
            yield build
