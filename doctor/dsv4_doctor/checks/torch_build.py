"""torch and triton: which builds they are, read from their files, never imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.specifiers import SpecifierSet

from dsv4_doctor.checks import remedies, selection
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.checks.untold import if_told
from dsv4_doctor.knowledge.model import accepts
from dsv4_doctor.report import Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.facts.python import PythonEnvironment, TorchBuild
    from dsv4_doctor.report import Status


def _install(python: PythonEnvironment, requirement: str) -> Remedy:
    return Remedy(
        f"install {requirement} into {python.prefix}",
        (remedies.pip_install(python.executable, requirement),),
    )


def _tag(torch: TorchBuild) -> str:
    if torch.hip is not None:
        return f"ROCm {torch.hip}"
    return f"CUDA {torch.cuda}" if torch.cuda is not None else "CPU only"


@check(
    "torch.build.present",
    "torch",
    reads=("python",),
    reports=("vllm-project/vllm#28371",),
    fix="Install the torch that the release pins, built with CUDA.",
)
def present(context: Context) -> Iterator[Finding]:
    """Whether torch is installed, and for which CUDA it was built.

    Its absence is a failure only for serving: a build with isolation brings its own.
    """
    python = context.need("python", context.snapshot.python)
    pin = context.release.torch
    cuda = context.release.torch_cuda
    expected = f"torch {pin.value}" + (f", built with CUDA {cuda.value}" if cuda else "")
    sources = (
        pin.source(f"torch == {pin.value}"),
        *((cuda.source(f"its default wheel is CUDA {cuda.value}"),) if cuda else ()),
    )
    if python.torch is None:
        yield Finding(
            "torch.build.present",
            "fail" if context.target.purpose == "serve" else "warn",
            f"torch is not installed in {python.prefix}",
            found="none",
            expected=expected,
            evidence=(Evidence("none", python.prefix),),
            source=sources,
            remedy=_install(python, f"torch=={pin.value}"),
        )
        return
    good = python.torch.cuda is not None
    yield Finding(
        "torch.build.present",
        "pass" if good else "fail",
        f"torch {python.torch.version}, {_tag(python.torch)}"
        + ("" if good else ": it cannot use an NVIDIA GPU"),
        found=f"{python.torch.version} ({_tag(python.torch)})",
        expected=expected,
        evidence=(Evidence(f"{python.torch.version}, {_tag(python.torch)}", python.torch.path),),
        source=sources,
        remedy=None if good else _install(python, f"torch=={pin.value}"),
    )


@check(
    "torch.build.pin",
    "torch pin",
    reads=("python",),
    reports=("vllm-project/vllm#36302", "vllm-project/vllm#35861", "vllm-project/vllm#12577"),
    fix="Install the torch that the release pins, or build vLLM against the one that is there.",
)
def pinned(context: Context) -> Iterator[Finding]:
    """Whether torch is the version that the release pins.

    For a build another version is only a CMake warning; an installed vLLM that was linked
    against another torch does not load.
    """
    python = context.need("python", context.snapshot.python)
    if python.torch is None:
        return
    pin = context.release.torch
    good = selection.version(python.torch.version).public == selection.version(pin.value).public
    installed = if_told(lambda: python.distribution("vllm")) is not None
    status: Status = "fail" if context.target.purpose == "serve" and installed else "warn"
    yield Finding(
        "torch.build.pin",
        "pass" if good else status,
        f"torch {python.torch.version} {'is' if good else 'is not'} the version that"
        f" vLLM {context.release.name} pins",
        found=python.torch.version,
        expected=f"torch {pin.value}",
        evidence=(Evidence(python.torch.version, python.torch.path),),
        source=(pin.source(f"torch == {pin.value}"),),
        remedy=None if good else _install(python, f"torch=={pin.value}"),
    )


@check(
    "torch.build.toolkit",
    "torch and toolkit",
    reads=("python", "toolkits"),
    reports=("vllm-project/vllm#1453",),
    fix="Use a toolkit of the CUDA major version that torch is built with.",
)
def toolkit(context: Context) -> Iterator[Finding]:
    """Whether torch and the toolkit are of the same CUDA major version.

    Different majors compile and then load two CUDA run times into one process.
    """
    python = context.need("python", context.snapshot.python)
    chosen = selection.toolkit(context)
    if python.torch is None or python.torch.cuda is None or chosen is None or not chosen.release:
        return
    wanted = selection.version(python.torch.cuda).major
    good = selection.version(chosen.release).major == wanted
    wheel = context.release.torch_cuda
    yield Finding(
        "torch.build.toolkit",
        "pass" if good else ("fail" if context.target.builds else "warn"),
        f"torch is built with CUDA {python.torch.cuda}, the toolkit is {chosen.release}",
        found=f"torch: CUDA {python.torch.cuda}, toolkit: CUDA {chosen.release}",
        expected=f"both CUDA {wanted}.x",
        evidence=(
            Evidence(f"CUDA {python.torch.cuda}", python.torch.path),
            Evidence(f"CUDA {chosen.release}", chosen.root),
        ),
        source=(wheel.source(f"torch's default wheel is CUDA {python.torch.cuda}"),)
        if wheel is not None and python.torch.cuda == wheel.value
        else (),
        remedy=None if good else remedies.install_toolkit(python.torch.cuda),
    )


@check(
    "triton.build.pin",
    "triton",
    reads=("python",),
    fix="Reinstall torch, which brings its triton, or install the triton that it asks for.",
)
def triton(context: Context) -> Iterator[Finding]:
    """Whether triton is the version that torch of this release asks for.

    No vLLM release pins triton itself: it comes with torch.
    """
    python = context.need("python", context.snapshot.python)
    if python.torch is None:
        return
    wanted = context.release.triton
    if wanted is None:
        yield _no_triton(context)
        return
    dist = python.distribution("triton")
    good = dist is not None and accepts(SpecifierSet(wanted.value), dist.version)
    found = dist.version if dist is not None else "none"
    yield Finding(
        "triton.build.pin",
        "pass"
        if good
        else ("fail" if dist is None and context.target.purpose == "serve" else "warn"),
        f"triton {found}" if good else f"triton: {found}, torch asks for {wanted.value}",
        found=found,
        expected=f"triton {wanted.value}",
        evidence=(Evidence(found, dist.location if dist is not None else python.prefix),),
        source=(wanted.source(f"triton {wanted.value}"),),
        remedy=None if good else _install(python, f"triton{wanted.value}"),
    )


def _no_triton(context: Context) -> Finding:
    torch = context.release.torch
    return Finding(
        "triton.build.pin",
        "unknown",
        f"which triton torch {torch.value} asks for is not known",
        source=(torch.source(f"torch == {torch.value}"),),
    )
