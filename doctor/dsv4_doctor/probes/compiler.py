"""The host compilers, and the one that nvcc really calls in a build of vLLM."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor import process
from dsv4_doctor.facts.compiler import Compiler, HostCompilers
from dsv4_doctor.lazy_dataclass import dataclass
from dsv4_doctor.probes import (
    compiler_environment,
    compiler_versions,
    files,
    nvcc,
    programs,
    toolkit_rules,
)
from dsv4_doctor.probes.parallel import both

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dsv4_doctor.probes.registry import Request

# The names that CMake tries for C++ when CXX is not set, in its order.
_CXX = ("c++", "g++", "clang++")

_FILESYSTEM = Path("/")


@dataclass(frozen=True)
class Chosen:
    """A host compiler that CMake hands to nvcc.

    Attributes:
        program: Path or name.
        because: What chose it.
    """

    program: str
    because: str


@dataclass(frozen=True)
class Heard:
    """What nvcc answered: a dry run, or why there is none."""

    run: nvcc.DryRun | None
    error: str | None


def probe(_request: Request) -> HostCompilers:
    """Find the compilers and ask nvcc which one it calls."""
    return survey(os.environ)


def survey(
    environ: Mapping[str, str],
    *,
    default_root: str = toolkit_rules.DEFAULT,
    filesystem: Path = _FILESYSTEM,
) -> HostCompilers:
    """Find the compilers on PATH and ask nvcc which one it calls.

    Args:
        environ: Environment variables.
        default_root: Toolkit to ask when neither the environment nor PATH names one.
        filesystem: Where ``/usr/include`` is.
    """
    directories = programs.directories(environ, "PATH")
    compiler = _nvcc(environ, directories, default_root)
    paths = compiler_versions.on_path(directories)
    if compiler is None:
        found = _without_nvcc(compiler_versions.identify(paths))
    else:
        chosen = cmake_choice(environ, directories)
        listed, heard = both(
            partial(compiler_versions.identify, paths), partial(_listen, compiler, chosen)
        )
        found = _with_nvcc(environ, compiler, chosen, tuple(listed), heard)
    return _surroundings(found, environ, directories, filesystem)


def _with_nvcc(
    environ: Mapping[str, str],
    compiler: str,
    chosen: Chosen | None,
    found: tuple[Compiler, ...],
    heard: Heard,
) -> HostCompilers:
    if heard.run is None or heard.run.host_compiler is None:
        error = heard.error or f"{compiler} --dryrun: it names no host compiler"
        return HostCompilers(found, None, None, error)
    name = heard.run.host_compiler
    path = programs.find(name, (heard.run.path or "").split(os.pathsep))
    used = next((each for each in found if each.path == path), None)
    if path is not None and (used is None or used.kind.startswith("clang")):
        asked = compiler_versions.ask(path)  # A clang in the list may not have been run.
        used = (used or asked) if asked is not None else None
    if used is None:
        return HostCompilers(found, None, None, f"{path or name}: it gives no version")
    return HostCompilers(found, used, decided_by(environ, chosen, name))


def _surroundings(
    compilers: HostCompilers,
    environ: Mapping[str, str],
    directories: Sequence[str],
    filesystem: Path,
) -> HostCompilers:
    """Add the compiler of the C++ files, and what else a build meets around a compiler."""
    path, because = cxx_choice(environ, directories)
    used = compilers.used
    asks = used is not None and used.kind in {"gcc", "g++"}
    return HostCompilers(
        found=compilers.found,
        used=used,
        used_because=compilers.used_because,
        error=compilers.error,
        cxx=_known(compilers, path) if path is not None else None,
        cxx_because=because if path is not None else None,
        absent=compiler_environment.absent(environ, directories),
        cc1plus=compiler_environment.cc1plus(used.path) if used is not None and asks else None,
        system_headers=compiler_environment.system_headers(environ, filesystem),
        libc_math=compiler_environment.libc_math(filesystem),
    )


def _known(compilers: HostCompilers, path: str) -> Compiler | None:
    """Return a compiler that was identified under another name already, else ask it."""
    real = os.path.realpath(path)
    every = (*compilers.found, *((compilers.used,) if compilers.used else ()))
    same = next((each for each in every if os.path.realpath(each.path) == real), None)
    if same is None or "ccache" in real:
        return compiler_versions.ask(path)
    return Compiler(path, same.kind, same.version)


def cxx_choice(environ: Mapping[str, str], directories: Sequence[str]) -> tuple[str | None, str]:
    """Return the compiler of the C++ files of a build, and what decided it.

    CMake takes ``CMAKE_CXX_COMPILER``, then ``CXX``, then the first of ``c++``, ``g++`` and
    ``clang++`` on PATH (``Modules/CMakeDetermineCXXCompiler.cmake``).
    """
    given = toolkit_rules.cmake_definition(environ, "CMAKE_CXX_COMPILER")
    if given:
        return programs.find(given, directories), "CMAKE_ARGS"
    if environ.get("CXX"):
        return programs.find(environ["CXX"].split()[0], directories), "CXX"
    paths = (programs.find(name, directories) for name in _CXX)
    return next((path for path in paths if path), None), "PATH"


def cmake_choice(environ: Mapping[str, str], directories: Sequence[str]) -> Chosen | None:
    """Return the host compiler that CMake hands to nvcc as ``-ccbin``, ``None`` when it leaves it.

    ``CUDAHOSTCXX`` comes first (CMake's ``Modules/CMakeDetermineCUDACompiler.cmake``, "Allow the
    user to specify a host compiler"). Then torch's ``Caffe2/public/cuda.cmake``, which vLLM's build
    loads, sets ``CMAKE_CUDA_HOST_COMPILER`` to the C++ compiler if that is clang; a gcc in ``CXX``
    compiles C++ files only and is not handed on. Last comes the variable itself in ``CMAKE_ARGS``.
    """
    wanted = environ.get("CUDAHOSTCXX")
    if wanted:
        return Chosen(wanted, "CUDAHOSTCXX")
    found, _ = cxx_choice(environ, directories)
    if found and compiler_versions.kind(found).startswith("clang"):
        return Chosen(found, "CXX (torch's CMake files hand clang to nvcc)")
    wanted = toolkit_rules.cmake_definition(environ, "CMAKE_CUDA_HOST_COMPILER")
    return Chosen(wanted, "CMAKE_ARGS") if wanted else None


def decided_by(environ: Mapping[str, str], chosen: Chosen | None, name: str) -> str:
    """Say what decided for the compiler that nvcc calls.

    nvcc takes the last ``-ccbin`` of ``NVCC_PREPEND_FLAGS``, command line, ``NVCC_APPEND_FLAGS``;
    without any it takes ``NVCC_CCBIN``, and then ``gcc`` on PATH (tried with nvcc 13.0.88).
    """
    if _has_ccbin(environ.get("NVCC_APPEND_FLAGS", "")):
        return "NVCC_APPEND_FLAGS"
    if chosen is not None:
        return chosen.because
    if _has_ccbin(environ.get("NVCC_PREPEND_FLAGS", "")):
        return "NVCC_PREPEND_FLAGS"
    if environ.get("NVCC_CCBIN"):
        return "NVCC_CCBIN"
    return "nvcc.profile" if os.sep in name else "PATH"


def _has_ccbin(flags: str) -> bool:
    names = ("-ccbin", "--compiler-bindir")
    return any(flag.partition("=")[0] in names for flag in flags.split())


def _nvcc(environ: Mapping[str, str], directories: Sequence[str], default: str) -> str | None:
    """Return the nvcc of a build of vLLM: below the root that torch takes, else on PATH."""
    root = toolkit_rules.torch_root(environ, default=default)
    below = Path(root, "bin/nvcc") if root else None
    if below is not None and files.is_file(below):
        return str(below)
    return programs.find("nvcc", directories)


def _listen(compiler: str, chosen: Chosen | None) -> Heard:
    options = ("-ccbin", chosen.program) if chosen else ()
    try:
        return Heard(nvcc.dry_run(compiler, *options), None)
    except process.ProcessError as error:
        return Heard(None, str(error))


def _without_nvcc(found: Sequence[Compiler]) -> HostCompilers:
    plain = [each for each in found if Path(each.path).name in {"gcc", "g++"}]
    versioned = [each for each in found if each.kind in {"gcc", "g++"}]
    used = next(iter(plain or versioned), None)
    return HostCompilers(tuple(found), used, "PATH (no nvcc to ask)" if used else None)
