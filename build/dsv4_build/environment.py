"""The environment of a build: what is set, what is taken away, and why each."""

from __future__ import annotations

import os
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dsv4_build.caching.choice import Cache
    from dsv4_build.compilers import HostCompiler
    from dsv4_build.recipe import Recipe
    from dsv4_doctor.arch import Arch

# Stands for the work directory in values that go into the key of a build: the directory's own
# name is made from that key.
WORK = "{work}"

# Directory below the work directory with links to the chosen tools. Their own directories cannot
# go on PATH: they may hold other programs that were not chosen.
TOOLS = "tools"

# Variables that change what compilers, CMake or Python do without a trace in the result.
_HARMFUL: dict[str, str] = {
    "CPATH": "adds headers that the build did not choose",
    "C_INCLUDE_PATH": "adds headers that the build did not choose",
    "CPLUS_INCLUDE_PATH": "adds headers that the build did not choose",
    "LIBRARY_PATH": "adds libraries that the build did not choose",
    "LD_PRELOAD": "changes every program of the build",
    "CFLAGS": "changes how sources are compiled",
    "CXXFLAGS": "changes how sources are compiled",
    "CPPFLAGS": "changes how sources are compiled",
    "CUDAFLAGS": "changes how sources are compiled",
    "LDFLAGS": "changes how modules are linked",
    "NVCC_PREPEND_FLAGS": "changes how sources are compiled",
    "NVCC_APPEND_FLAGS": "changes how sources are compiled",
    "CUDA_PATH": "may name another toolkit than the chosen one",
    "CUDA_ROOT": "may name another toolkit than the chosen one",
    "CUDA_BIN_PATH": "may name another toolkit than the chosen one",
    "CUDAToolkit_ROOT": "may name another toolkit than the chosen one",
    "CUDAARCHS": "architectures come from --arch",
    "CMAKE_ARGS": "changes how CMake is called",
    "CMAKE_GENERATOR": "the build is run by ninja",
    "CMAKE_PREFIX_PATH": "adds packages that the build did not choose",
    "CMAKE_TOOLCHAIN_FILE": "chooses other compilers",
    "CMAKE_C_COMPILER_LAUNCHER": "puts another program before the compiler",
    "CMAKE_CUDA_COMPILER_LAUNCHER": "puts another program before nvcc",
    "CMAKE_CXX_COMPILER_LAUNCHER": "puts another program before the compiler",
    "MAKEFLAGS": "changes how many jobs run",
    "PYTHONPATH": "adds modules that the interpreter's environment does not have",
    "PYTHONHOME": "points the interpreter at another installation",
    "PYTHONSTARTUP": "runs code of its own",
    "PYTHONWARNINGS": "can turn a warning of a build tool into its end",
    "LANGUAGE": "would translate the messages of the tools",
    "GIT_DIR": "points git at another repository",
    "GIT_WORK_TREE": "points git at another repository",
    "DSV4_CACHE_REMOTE": "may hold a password; the compiler cache gets it in its own way",
    "VLLM_USE_PRECOMPILED": "would take binaries instead of compiling",
    "VLLM_USE_PRECOMPILED_RUST": "would take binaries instead of compiling",
    "VLLM_PRECOMPILED_WHEEL_LOCATION": "would take binaries instead of compiling",
}

# What a build gets of its caller as it is; nothing else reaches it. None of it may change the
# result.
_KEPT: dict[str, str] = {
    "HOME": "settings of git and cargo",
    "USER": "who builds, for programs that ask",
    "LOGNAME": "who builds, for programs that ask",
    "TMPDIR": "where temporary files have room",
    "XDG_*": "where this user keeps caches and settings",
    "http_proxy": "the way to the network",
    "https_proxy": "the way to the network",
    "no_proxy": "the way to the network",
    "all_proxy": "the way to the network",
    "HTTP_PROXY": "the way to the network",
    "HTTPS_PROXY": "the way to the network",
    "NO_PROXY": "the way to the network",
    "ALL_PROXY": "the way to the network",
    "SSL_CERT_*": "certificates of servers",
    "CURL_CA_BUNDLE": "certificates of servers",
    "REQUESTS_CA_BUNDLE": "certificates of servers",
    "SSH_*": "the user's keys for git servers",
    "GIT_*": "the user's way to git servers",
    "CARGO_HOME": "where cargo keeps crates",
    "CARGO_HTTP_*": "the way to the network",
    "CARGO_NET_*": "the way to the network",
    "RUSTUP_*": "which Rust is installed",
    "CCACHE_DIR": "where the compiler cache is",
    "CCACHE_MAXSIZE": "how large the compiler cache may become",
    "SCCACHE_DIR": "where the compiler cache is",
    "SCCACHE_CACHE_SIZE": "how large the compiler cache may become",
    "AWS_*": "the bucket of a compiler cache that is shared through S3, and only with one",
    "LD_LIBRARY_PATH": "compilers outside of the system's directories are linked so",
    "DSV4_*": "of dsv4-doctor itself",
}

_NOT_LISTED = "a build gets only what is listed"


_LAUNCHERS = tuple(f"CMAKE_{language}_COMPILER_LAUNCHER" for language in ("C", "CXX", "CUDA"))
# What stands before compilers, and changes no byte of a result: a compiler cache may be installed
# on one machine and not on the next.
LAUNCHING = (*_LAUNCHERS, "CMAKE_ARGS", "CCACHE_DISABLE", "VLLM_DISABLE_SCCACHE")


@dataclass(frozen=True)
class Variable:
    """One variable, with the reason why it is set or removed; a removed one has no value."""

    name: str
    value: str
    why: str


@dataclass(frozen=True)
class Environment:
    """How the environment of a build differs from the caller's.

    Attributes:
        set: Variables with their values.
        removed: Variables that the caller has set and that the build does not get.
    """

    set: tuple[Variable, ...]
    removed: tuple[Variable, ...]

    @property
    def harmful(self) -> tuple[Variable, ...]:
        """What of the removed would have changed the build without a trace."""
        return tuple(each for each in self.removed if each.why != _NOT_LISTED)

    @property
    def unlisted(self) -> tuple[str, ...]:
        """The names of the rest."""
        return tuple(each.name for each in self.removed if each.why == _NOT_LISTED)

    def apply(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return the whole environment for the children of the build."""
        dropped = {variable.name for variable in self.removed}
        result = {name: value for name, value in environ.items() if name not in dropped}
        result.update((variable.name, variable.value) for variable in self.set)
        return result

    @property
    def identity(self) -> dict[str, str]:
        """What of it can change the result: not PATH, the jobs and what stands before compilers."""
        without = {"PATH", "MAX_JOBS", *LAUNCHING}
        return {each.name: each.value for each in self.set if each.name not in without}


@dataclass(frozen=True)
class Inputs:
    """What the environment of a build is made from.

    Attributes:
        cuda_home: Root of the toolkit.
        python: The interpreter that is built for.
        epoch: Seconds for ``SOURCE_DATE_EPOCH``.
        work: The work directory, or :data:`WORK`.
        cache: The compiler cache.
        version: Of the wheel.
        fetches: Whether the tree downloads external projects.
    """

    recipe: Recipe
    cuda_home: str
    compiler: HostCompiler
    archs: tuple[Arch, ...]
    python: str
    jobs: int
    epoch: int
    work: str
    cache: Cache
    version: str
    fetches: bool = False


def policy() -> tuple[str, ...]:
    """Return names, and patterns of names, of all that a build takes over from its caller."""
    return tuple(sorted(_KEPT))


def _kept(name: str, cache: Cache) -> bool:
    if name.startswith("AWS_") and (cache.remote is None or cache.remote.kind != "s3"):
        return False  # Credentials that nothing here has a use for.
    return name not in _HARMFUL and any(fnmatchcase(name, pattern) for pattern in _KEPT)


def plan(inputs: Inputs, environ: Mapping[str, str]) -> Environment:
    """Decide what is set and what is removed."""
    variables = [
        *(*_toolkit(inputs), *_compilers(inputs), *_launching(inputs)),
        *(*_build(inputs), *_reproducible(inputs)),
    ]
    names = {variable.name for variable in variables}
    removed = tuple(
        Variable(name, "", _reason(name))
        for name in sorted(environ)
        if name not in names and name != "PATH" and not _kept(name, inputs.cache)
    )
    path = _path(inputs, environ.get("PATH", os.defpath).split(os.pathsep))
    return Environment((path, *variables), removed)


def _path(inputs: Inputs, before: Sequence[str]) -> Variable:
    wanted = [f"{inputs.cuda_home}/bin", f"{inputs.work}/{TOOLS}", str(Path(inputs.python).parent)]
    rest = [entry for entry in before if entry and entry not in wanted]
    return Variable(
        "PATH",
        os.pathsep.join(dict.fromkeys([*wanted, *rest])),
        "CMake's FindCUDA takes the first nvcc on it; then links to the chosen cmake and ninja",
    )


def _toolkit(inputs: Inputs) -> list[Variable]:
    home = inputs.cuda_home
    archs = ";".join(arch.base.dotted for arch in inputs.archs)
    return [
        Variable("CUDA_HOME", home, "torch and setup.py take the toolkit from it"),
        Variable("CUDACXX", f"{home}/bin/nvcc", "CMake takes nvcc from it"),
        Variable("TORCH_CUDA_ARCH_LIST", archs, "the architectures of --arch"),
    ]


def _compilers(inputs: Inputs) -> list[Variable]:
    chosen = inputs.compiler
    return [
        Variable("CC", chosen.cc, "the C compiler that fits toolkit and release"),
        Variable("CXX", chosen.cxx, "the C++ compiler that fits toolkit and release"),
        Variable("CUDAHOSTCXX", chosen.cxx, "CMake gives it to nvcc"),
        Variable("NVCC_CCBIN", chosen.cxx, "nvcc takes it where CMake is not involved"),
    ]


def _launching(inputs: Inputs) -> list[Variable]:
    """Put the compiler cache before the compilers, and nothing else."""
    launcher = ";".join(inputs.cache.launcher)
    names = _LAUNCHERS if launcher else ()
    # vLLM's setup.py takes a ccache or sccache that it finds on PATH, and CMAKE_ARGS after that.
    arguments = " ".join(f"-D{name}={launcher}" for name in _LAUNCHERS)
    variables = [
        *(Variable(name, launcher, "the compiler cache of --cache") for name in names),
        Variable("CMAKE_ARGS", arguments, "vLLM's setup.py would take any ccache that it finds"),
    ]
    if inputs.cache.kind != "ccache":
        variables.append(Variable("CCACHE_DISABLE", "1", "not the compiler cache of --cache"))
    if inputs.cache.kind != "sccache":
        variables.append(Variable("VLLM_DISABLE_SCCACHE", "1", "not the compiler cache of --cache"))
    return variables


def _reason(name: str) -> str:
    if name.startswith(("CCACHE_", "SCCACHE_")):
        return "could make other objects hits; --cache-remote names a shared cache"
    return _HARMFUL.get(name, _NOT_LISTED)


def _build(inputs: Inputs) -> list[Variable]:
    recipe = inputs.recipe
    variables = [
        Variable("MAX_JOBS", str(inputs.jobs), "units that ninja starts at a time"),
        Variable("NVCC_THREADS", "1", "one thread a compiler, so that memory can be planned"),
        Variable("CMAKE_BUILD_TYPE", recipe.build_type, "an optimised build"),
    ]
    if inputs.fetches:
        variables.append(
            Variable(
                "FETCHCONTENT_BASE_DIR", f"{inputs.work}/deps", "external projects go below here"
            )
        )
        variables += [
            Variable("CARGO_NET_OFFLINE", "true", "crates are brought before compilers run"),
            Variable("CARGO_NET_GIT_FETCH_WITH_CLI", "true", "git knows where the cache is"),
        ]
    variables += [
        Variable(name, inputs.version, "the wheel's version, which tells CUDA and architectures")
        for name in recipe.version_variables
    ]
    own = [Variable(name, value, "of the recipe") for name, value in recipe.variables.items()]
    return variables + own


def _reproducible(inputs: Inputs) -> list[Variable]:
    names = Variable(
        "NVCC_APPEND_FLAGS", "-objtemp", "the same names of temporary files in every object"
    )
    return [
        # sccache takes nvcc's steps apart, under names of its own that do not change, and takes
        # this for "-o bjtemp" (0.16.0).
        *([names] if inputs.cache.kind != "sccache" else []),
        Variable("SOURCE_DATE_EPOCH", str(inputs.epoch), "the time of every file in the wheel"),
        Variable("PYTHONHASHSEED", "0", "the same order of sets in every run"),
        Variable("PYTHONDONTWRITEBYTECODE", "1", "no compiled modules among the sources"),
        Variable("PYTHONNOUSERSITE", "1", "no modules from the user's home"),
        Variable("LC_ALL", "C", "messages and sorting of every machine"),
        Variable("TZ", "UTC", "times of every machine"),
    ]
