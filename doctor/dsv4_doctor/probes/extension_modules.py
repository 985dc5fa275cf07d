"""The installed shared objects whose device code decides what vLLM can do here."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsv4_doctor.facts.python import DeviceCode
from dsv4_doctor.lazy_dataclass import dataclass
from dsv4_doctor.probes import files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(frozen=True)
class Module:
    """Shared objects of one distribution.

    Attributes:
        owner: Normalised name of the distribution.
        pattern: Relative to a directory of packages.
        family: Kernel family that the objects exist for, and that is to be proved in them.
    """

    owner: str
    pattern: str
    family: str = ""


# The names of vLLM's extensions changed with its releases: _C became _C_stable_libtorch, and
# _flashmla_C, _qutlass_C and others came. Only extensions have the capital C.
MODULES = (
    Module("vllm", "vllm/_*C*.so"),
    Module("vllm", "vllm/vllm_flash_attn/_vllm_fa2_C*.so"),
    Module("vllm", "vllm/vllm_flash_attn/vllm_flash_attn_c*.so"),  # 0.6.2 to 0.6.6
    Module("vllm", "vllm/vllm_flash_attn/_vllm_fa3_C*.so", "fa3"),
    Module("vllm", "vllm/third_party/deep_gemm/_C*.so"),
    Module("vllm-flash-attn", "vllm_flash_attn_2_cuda*.so"),
    Module("flash-attn", "flash_attn_cuda*.so"),
    Module("flash-attn", "flash_attn_2_cuda*.so"),
    Module("flash-attn-3", "flash_attn_3/_C*.so", "fa3"),
    Module("flash-attn-3", "flash_attn_3_cuda*.so", "fa3"),
    Module("flash-attn-3", "flashattn_hopper*.so", "fa3"),
    Module("flash-mla", "flash_mla/cuda*.so"),
    Module("deep-gemm", "deep_gemm/_C*.so"),
    Module("deep-gemm", "deep_gemm_cpp*.so"),
)

# A probe may not decompress a whole library of 150 MB. In the wheels of vLLM 0.7.2, 0.24.0 and
# 0.33.0 the proof of FA3 is in the second or third cubin that can hold it.
_MOST_CUBINS = 16

_TAG = re.compile(r"\.cpython-(\d)(\d+)")


def loadable(name: str, python: str) -> bool:
    """Whether an interpreter of this version would load a file of this name.

    A wheel may carry one file for each version: ``_C.cpython-312-x86_64-linux-gnu.so``.
    """
    tag = _TAG.search(name)
    return tag is None or python.split(".")[:2] == [tag[1], tag[2]]


def read(roots: Iterable[Path], python: str) -> tuple[DeviceCode, ...]:
    """Read the device code of every module found below the roots.

    Args:
        roots: Directories that packages are imported from.
        python: Version of the interpreter.
    """
    return tuple(_device_code(path, module) for module, path in _find(roots, python))


def _find(roots: Iterable[Path], python: str) -> Iterator[tuple[Module, Path]]:
    for root in roots:
        for module in MODULES:
            directory, _, pattern = f"{root}/{module.pattern}".rpartition("/")
            for name in sorted(_matching(directory, pattern)):
                if loadable(name, python):
                    yield module, Path(directory, name)


def _matching(directory: str, pattern: str) -> Iterator[str]:
    # pathlib's glob takes a fifth of this probe's time, to prepare patterns that match nothing.
    start = pattern.partition("*")[0]
    for name in files.names(directory):
        if name.startswith(start) and name.endswith(".so") and fnmatchcase(name, pattern):
            yield name


def _device_code(path: Path, module: Module) -> DeviceCode:
    # The inspector is loaded only where there is something to inspect.
    from dsv4_doctor.binary.inspection import Options, inspect_path  # noqa: PLC0415

    options = Options(prove=(module.family,), most=_MOST_CUBINS) if module.family else Options()
    try:
        (found,) = inspect_path(path, options).objects
    except Exception as error:  # noqa: BLE001 - one broken file must not hide the environment
        return DeviceCode(str(path), module.owner, (), (), error=str(error) or repr(error))
    return DeviceCode(
        path=str(path),
        owner=module.owner,
        sass=found.sass,
        ptx=found.ptx,
        families=tuple(dict.fromkeys(each.family for each in found.families)),
        **_needs(path),
    )


def _needs(path: Path) -> dict[str, Any]:
    """Return what a module needs of other libraries; nothing where that cannot be read."""
    from dsv4_doctor.binary.dynamic import read_dynamic  # noqa: PLC0415
    from dsv4_doctor.binary.linkage import cuda_majors, newest_versions  # noqa: PLC0415
    from dsv4_doctor.binary.source import DiskFile  # noqa: PLC0415
    from dsv4_doctor.errors import InputError  # noqa: PLC0415

    try:
        with DiskFile(path) as source:
            dynamic = read_dynamic(source, symbols=False)
    except InputError:
        return {}
    if dynamic is None:
        return {}
    newest = newest_versions(version for _, version in dynamic.versions)
    return {
        "cuda": cuda_majors(dynamic.needed),
        "glibc": newest.get("GLIBC"),
        "glibcxx": newest.get("GLIBCXX"),
        "cxxabi": newest.get("CXXABI"),
    }


def find(roots: Iterable[Path], python: str) -> Iterator[tuple[str, Path]]:
    """Yield every module below the roots that an interpreter would load, with its owner."""
    for module, path in _find(roots, python):
        yield module.owner, path
