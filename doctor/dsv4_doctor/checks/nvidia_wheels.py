"""NVIDIA's wheels in a Python environment: one release, torch's pins, nothing put before them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from dsv4_doctor.checks import remedies, requirement, selection
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.knowledge.model import accepts
from dsv4_doctor.report import Command, Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.checks.requirement import Asked
    from dsv4_doctor.facts.python import Distribution, PythonEnvironment
    from dsv4_doctor.report import Status

_RUNTIME = "nvidia-cuda-runtime"
_PARTS = ("nvidia-cuda-nvcc", "nvidia-cuda-crt", "nvidia-nvvm", "nvidia-cuda-cccl")
# The wheel of each library that programs outside of pip also bring.
_WHEELS = {
    "cudart": "nvidia-cuda-runtime",
    "cublas": "nvidia-cublas",
    "cublasLt": "nvidia-cublas",
    "cudnn": "nvidia-cudnn",
    "cufft": "nvidia-cufft",
    "curand": "nvidia-curand",
    "cusolver": "nvidia-cusolver",
    "cusparse": "nvidia-cusparse",
    "nccl": "nvidia-nccl",
    "nvJitLink": "nvidia-nvjitlink",
    "nvrtc": "nvidia-cuda-nvrtc",
}
_NUMBER = re.compile(r"\.so\.(\d+(?:\.\d+)+)$")


@check(
    "cuda.wheels.coherence",
    "CUDA compiler of pip",
    reads=("python", "toolkits"),
    reports=(
        "vllm-project/vllm#44305",
        "ls1intum/edutelligence#687",
        "vllm-project/vllm#55526",
        "vllm-project/perf-eval#52",
    ),
    fix="Pin the wheels of the compiler to the release of nvidia-cuda-runtime.",
)
def coherence(context: Context) -> Iterator[Finding]:
    """Whether pip's wheels of the CUDA compiler are of the release of its run-time headers.

    torch pins ``nvidia-cuda-runtime`` and nothing pins ``nvidia-cuda-nvcc``, so that the compiler
    floats to a newer release. Compiling then stops at "CUDA compiler and CUDA toolkit headers are
    incompatible". Kernels in an old cache keep working, and hide it.
    """
    python = context.need("python", context.snapshot.python)
    for suffix in ("", "-cu12", "-cu11"):
        runtime = python.distribution(_RUNTIME + suffix)
        parts = [
            dist for name in _PARTS if (dist := python.distribution(name + suffix)) is not None
        ]
        if runtime is not None and parts:
            yield _coherence(context, python, runtime, parts)


def _coherence(
    context: Context, python: PythonEnvironment, runtime: Distribution, parts: list[Distribution]
) -> Finding:
    release = selection.release_of(runtime.version)
    bad = [each for each in parts if selection.release_of(each.version) != release]
    pins = [f"{each.name}=={release}.*" for each in bad]
    every = (*parts, runtime)
    return Finding(
        "cuda.wheels.coherence",
        ("fail" if _picked(context) else "warn") if bad else "pass",
        f"{', '.join(f'{each.name} {each.version}' for each in bad or parts)}"
        f" {'beside' if bad else 'and'} {runtime.name} {runtime.version}",
        found=", ".join(f"{each.name} {each.version}" for each in every),
        expected=f"all {release}",
        evidence=tuple(Evidence(f"{each.name} {each.version}", each.location) for each in every),
        remedy=Remedy(
            f"install the compiler of CUDA {release}; in requirements pin it, because nothing else"
            " does",
            (remedies.pip_install(python.executable, *pins),),
        )
        if bad
        else None,
    )


def _picked(context: Context) -> bool:
    """Whether something here would compile with the toolkit of pip."""
    toolkits = context.snapshot.toolkits
    if toolkits is None:
        return False
    roots = {each.root for each in toolkits.found if "pip" in each.origins}
    if not roots:
        return False
    picks = toolkits.picks
    return not roots.isdisjoint({picks.torch, picks.cmake, picks.path, *picks.runtime.values()})


@check(
    "torch.install.libraries",
    "CUDA libraries of torch",
    reads=("python",),
    reports=("Dao-AILab/flash-attention#1832",),
    fix="Install the versions that torch pins.",
)
def pinned(context: Context) -> Iterator[Finding]:
    """Whether the wheels of CUDA libraries are as new as those that the installed torch pins.

    torch is tested with one version of NCCL, cuDNN and cuBLAS each; another package that pulls in
    an older one replaces it without an error. A newer one is no
    fault: vLLM's own image installs a newer NCCL than torch pins.
    """
    python = context.need("python", context.snapshot.python)
    torch = python.distribution("torch")
    if torch is None:
        return
    asked = [each for each in requirement.of(torch) if each.name.startswith("nvidia-")]
    if not asked:
        return
    bad = []
    for each in asked:
        dist = python.distribution(each.name)
        if dist is not None and _older_than_pin(each, dist):
            bad.append((each, dist))
    yield Finding(
        "torch.install.libraries",
        "warn" if bad else "pass",
        "no CUDA library is older than torch pins it"
        if not bad
        else f"torch {torch.version} pins a newer version of "
        + ", ".join(f"{dist.name} {dist.version}" for _, dist in bad),
        found=", ".join(f"{dist.name} {dist.version}" for _, dist in bad) or "as pinned",
        expected=", ".join(f"{each.name}{each.specifier}" for each, _ in bad or [])
        or f"{len(asked)} pins of torch {torch.version}",
        evidence=tuple(
            Evidence(f"Requires-Dist: {each.name}{each.specifier}", torch.location)
            for each, _ in bad
        )
        or (Evidence("all pins met", torch.location),),
        remedy=Remedy(
            "install the versions that torch pins",
            (
                remedies.pip_install(
                    python.executable, *(f"{each.name}{each.specifier}" for each, _ in bad)
                ),
            ),
        )
        if bad
        else None,
    )


def _older_than_pin(asked: Asked, dist: Distribution) -> bool:
    pins = [each.version for each in asked.specifier if each.operator == "=="]
    if accepts(asked.specifier, dist.version) or not pins:
        return False
    return selection.version(dist.version) < selection.version(pins[0])


@check(
    "cuda.libraries.shadowed",
    "LD_LIBRARY_PATH before pip's CUDA",
    reads=("environment", "python"),
    reports=("vllm-project/vllm#10300",),
    fix="Take the toolkit's directory out of LD_LIBRARY_PATH.",
)
def shadowed(context: Context) -> Iterator[Finding]:
    """Whether LD_LIBRARY_PATH puts CUDA libraries of a toolkit before those of pip's wheels.

    NVIDIA's wheels find each other by RUNPATH, which comes after that variable. An older library
    of the same name ends with "undefined symbol: __nvJitLinkComplete_12_4".
    """
    python = context.need("python", context.snapshot.python)
    if not python.shadowed:
        return
    ages = {name: _age(python, name, path) for name, path in python.shadowed.items()}
    older = [name for name, age in ages.items() if age == "older"]
    bad = older or [name for name, age in ages.items() if age == "unknown"]
    status: Status = "pass"
    if bad:
        status = "fail" if older and context.target.serves else "warn"
    value = (context.snapshot.environment or {}).get("LD_LIBRARY_PATH", "")
    yield Finding(
        "cuda.libraries.shadowed",
        status,
        f"LD_LIBRARY_PATH puts {'an older ' if older else ''}{', '.join(bad or ages)} before that"
        f" of pip{'' if bad else ', none of them older'}",
        found=", ".join(python.shadowed.values()),
        expected="the CUDA libraries of pip's wheels, which torch was tested with",
        evidence=tuple(
            Evidence(path, f"{name}, by LD_LIBRARY_PATH") for name, path in python.shadowed.items()
        ),
        remedy=Remedy(
            f"take the toolkit's directory out of LD_LIBRARY_PATH{f' ({value})' if value else ''}:"
            " no wheel of vLLM or torch needs it",
            (Command(unset=("LD_LIBRARY_PATH",)),),
        )
        if bad
        else None,
    )


def _age(python: PythonEnvironment, name: str, path: str) -> Literal["older", "fine", "unknown"]:
    """Tell a library's age against the wheel that has it, as far as its file name says it."""
    number = _NUMBER.search(path)
    wheel = _WHEELS.get(name.removeprefix("lib").partition(".so")[0], "")
    dists = [dist for dist in python.distributions if re.fullmatch(rf"{wheel}(-cu\d+)?", dist.name)]
    if number is None or not wheel or not dists:
        return "unknown"
    mine, theirs = selection.release_of(number[1]), selection.release_of(dists[0].version)
    return "older" if mine < theirs else "fine"


@check(
    "cutlass.install.libraries",
    "CUTLASS DSL",
    reads=("python",),
    reports=("vllm-project/vllm#44949",),
    fix="Install nvidia-cutlass-dsl and its libraries in one version.",
)
def cutlass(context: Context) -> Iterator[Finding]:
    """Whether nvidia-cutlass-dsl and the wheels of its libraries are of one version.

    Its Python part and its MLIR bindings change together; two versions end in errors such as
    "mlir_global_dtors() missing 1 required positional argument".
    """
    python = context.need("python", context.snapshot.python)
    parts = [each for each in python.distributions if each.name.startswith("nvidia-cutlass-dsl")]
    if len(parts) < 2:
        return
    versions = sorted({each.version for each in parts})
    good = len(versions) == 1
    named = ", ".join(f"{each.name} {each.version}" for each in parts)
    main = next((each.version for each in parts if each.name == "nvidia-cutlass-dsl"), versions[-1])
    yield Finding(
        "cutlass.install.libraries",
        "pass" if good else ("fail" if context.target.serves else "warn"),
        f"nvidia-cutlass-dsl and its libraries are {' and '.join(versions)}",
        found=named,
        expected="one version",
        evidence=tuple(Evidence(f"{each.name} {each.version}", each.location) for each in parts),
        remedy=None
        if good
        else Remedy(
            "install all of them in one version",
            (
                remedies.pip_install(
                    python.executable,
                    "--force-reinstall",
                    *(f"{each.name}=={main}" for each in parts),
                ),
            ),
        ),
    )
