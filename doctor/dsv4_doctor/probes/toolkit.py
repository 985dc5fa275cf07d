"""The CUDA toolkits of the machine, and which of them each consumer would take."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.facts.toolkit import Picks, Toolkit, Toolkits
from dsv4_doctor.probes import (
    links,
    nvcc,
    toolkit_content,
    toolkit_layout,
    toolkit_places,
    toolkit_rules,
)
from dsv4_doctor.probes.parallel import both, gather

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dsv4_doctor.probes.nvcc import Real
    from dsv4_doctor.probes.registry import Request
    from dsv4_doctor.probes.toolkit_places import Place

_FILESYSTEM = Path("/")


def probe(request: Request) -> Toolkits:
    """Find every toolkit and read it."""
    return survey(os.environ, request.python)


def survey(
    environ: Mapping[str, str], python: str | None, filesystem: Path = _FILESYSTEM
) -> Toolkits:
    """Find every toolkit and read it.

    Args:
        environ: Environment variables.
        python: Interpreter whose environment may hold pip's toolkit, ``None`` to find one.
        filesystem: Where ``/usr/local`` and the like are.
    """
    places = toolkit_places.system(environ, filesystem)
    choices = _choices(environ, filesystem)
    pip, compilers = both(
        partial(toolkit_places.pip, environ, python),
        partial(_real_compilers, [*places, *filter(None, choices.values())]),
    )
    real = {found: each.path for found, each in compilers.items()}
    told = {each.path: each.version for each in compilers.values() if each.version}
    groups: dict[str, list[Place]] = {}
    for place in (*places, *pip):
        groups.setdefault(_key(place, real), []).append(place)
    roots = {key: _root(group, real) for key, group in groups.items()}
    picks = {
        consumer: _pick(choice, real, roots) if choice else None
        for consumer, choice in choices.items()
    }
    runtime = {
        "flashinfer": picks["torch"],
        "deep-gemm": picks["torch"],
        "tilelang": _tilelang(environ, picks, pip, roots, real),
    }
    home = environ.get("CUDA_HOME")
    return Toolkits(
        cuda_home=links.follow(home) if home else None,
        found=tuple(
            gather([partial(_read, roots[key], group, real, told) for key, group in groups.items()])
        ),
        picks=Picks(**picks, runtime={name: root for name, root in runtime.items() if root}),
    )


def _tilelang(
    environ: Mapping[str, str],
    picks: Mapping[str, str | None],
    pip: Sequence[Place],
    roots: Mapping[str, Path],
    real: Mapping[str, str],
) -> str | None:
    """Return the toolkit of TileLang: torch's, but pip's nvcc before ``/usr/local/cuda``.

    The rule is ``_find_cuda_home`` of ``tilelang/env.py`` (0.1.12, line 122). FlashInfer
    (``flashinfer/jit/cpp_ext.py``, 0.6.12, line 48) and DeepGEMM (``deep_gemm/__init__.py``,
    54e2261, line 104) have torch's rule: ``CUDA_HOME``, ``CUDA_PATH``, nvcc on PATH,
    ``/usr/local/cuda``.
    """
    named = environ.get("CUDA_HOME") or environ.get("CUDA_PATH") or picks["path"]
    by_pip = next((each for each in pip if each.nvcc), None)
    if named or by_pip is None:
        return picks["torch"]
    return _pick(by_pip, real, roots)


def _choices(environ: Mapping[str, str], filesystem: Path) -> dict[str, Place | None]:
    """Return the place that each consumer takes by its own rule."""
    below = str(filesystem).rstrip("/")
    torch = toolkit_rules.torch_root(environ, default=f"{below}{toolkit_rules.DEFAULT}")
    cmake = toolkit_rules.cmake_root(
        environ,
        prefixes=[f"{below}{each}" for each in toolkit_rules.SYSTEM_PREFIXES],
        last=f"{below}{toolkit_rules.LAST}",
    )
    return {
        "path": toolkit_places.on_path(environ),
        "torch": toolkit_places.at("torch", torch) if torch else None,
        "cmake": toolkit_places.at("cmake", cmake) if cmake else None,
    }


def _real_compilers(places: Iterable[Place]) -> dict[str, Real]:
    """Return the compiler behind each place's nvcc; each is asked once."""
    paths = list(dict.fromkeys(place.nvcc for place in places if place.nvcc))
    return dict(zip(paths, gather([partial(nvcc.real, each) for each in paths]), strict=True))


def _compiler(place: Place, real: Mapping[str, str]) -> str | None:
    if place.nvcc is None:
        return None
    return real.get(place.nvcc) or os.path.realpath(place.nvcc)


def _key(place: Place, real: Mapping[str, str]) -> str:
    """Return what two places of one toolkit have in common: the compiler, else the directory."""
    return _compiler(place, real) or os.path.realpath(place.root)


def _root(group: Sequence[Place], real: Mapping[str, str]) -> Path:
    """Return the directory of a toolkit: above its compiler, unless the headers are elsewhere."""
    compiler = _compiler(group[0], real)
    roots = [each.root.resolve() for each in group]
    if compiler is not None:
        roots.insert(0, Path(compiler).parent.parent)
    with_headers = (each for each in roots if toolkit_layout.header(each, "cuda.h") is not None)
    return next(with_headers, roots[0])


def _pick(choice: Place, real: Mapping[str, str], roots: Mapping[str, Path]) -> str:
    """Return what a consumer gets from the place that it takes.

    torch and CMake take the directory two above the nvcc that they find, whatever it is. Where
    that nvcc is a wrapper without headers beside it, such as ``/usr/local/bin/nvcc``, the pick is
    that directory, which is no toolkit: this is how such a build breaks.
    """
    root = roots.get(_key(choice, real))
    if root is not None and (choice.origin == "PATH" or choice.has_headers):
        return str(root)
    return str(choice.root.resolve())


def _read(
    root: Path, group: Sequence[Place], real: Mapping[str, str], told: Mapping[str, str]
) -> Toolkit:
    compiler = _compiler(group[0], real)
    answer = nvcc.Answer(None, (), None)
    if compiler is not None:
        answer = nvcc.ask(compiler, told.get(compiler))
    return Toolkit(
        root=str(root),
        origins=tuple(dict.fromkeys(_origin(each, root) for each in group)),
        nvcc=compiler,
        nvcc_version=answer.version,
        nvcc_error=answer.error,
        header_version=toolkit_layout.header_version(root),
        manifest_version=toolkit_layout.manifest_version(root),
        host_compiler=toolkit_layout.host_compiler_limits(root),
        archs=answer.archs,
        missing=toolkit_layout.missing(root),
        **toolkit_content.read(root),
    )


def _origin(place: Place, root: Path) -> str:
    """Name how a toolkit was found; a directory that only wraps its compiler is called so."""
    direct = place.origin == "PATH" or place.has_headers or place.root.resolve() == root
    return place.origin if direct else f"{place.origin} (wrapper)"
