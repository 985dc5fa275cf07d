"""The extension modules of an installed vLLM: which CUDA, which C libraries, all of them there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks import remedies, selection
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.knowledge import stack
from dsv4_doctor.report import Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.facts.python import DeviceCode, PythonEnvironment
    from dsv4_doctor.report import Status


@check(
    "vllm.install.cuda",
    "CUDA of vLLM and of torch",
    reads=("python",),
    reports=("vllm-project/vllm#44335",),
    fix="Install the wheel of vLLM that was built for torch's CUDA.",
)
def cuda(context: Context) -> Iterator[Finding]:
    """Whether the installed extension modules need the CUDA run time that torch brings.

    The default wheels of vLLM changed from CUDA 12 to 13 with 0.20.0. Beside a torch for CUDA 12
    they end with "libcudart.so.13: cannot open shared object file".
    """
    python = context.need("python", context.snapshot.python)
    modules = [each for each in python.binaries if each.cuda]
    if python.torch is None or python.torch.cuda is None or not modules:
        return
    wanted = selection.version(python.torch.cuda).major
    bad = [each for each in modules if each.cuda != (wanted,)]
    majors = sorted({major for each in bad or modules for major in each.cuda})
    needed = " and ".join(map(str, majors))
    status: Status = "fail" if context.target.serves else "warn"
    yield Finding(
        "vllm.install.cuda",
        status if bad else "pass",
        f"torch is built with CUDA {python.torch.cuda},"
        f" {_names(bad or modules)} asks for libraries of CUDA {needed}",
        found=", ".join(f"libcudart.so.{major}" for major in majors),
        expected=f"libcudart.so.{wanted}",
        evidence=(
            *(Evidence(f"needs CUDA {', '.join(map(str, each.cuda))}", each.path) for each in bad),
            Evidence(f"CUDA {python.torch.cuda}", python.torch.path),
        ),
        remedy=_other_wheel(context, python, majors) if bad else None,
    )


def _names(modules: list[DeviceCode]) -> str:
    names = sorted({each.owner for each in modules})
    return ", ".join(names)


def _other_wheel(context: Context, python: PythonEnvironment, needed: list[int]) -> Remedy:
    torch, cuda = context.release.torch.value, context.release.torch_cuda
    wanted = python.torch.cuda if python.torch is not None else ""
    fits = cuda is not None and needed == [selection.version(cuda.value).major]
    return Remedy(
        f"install the build of this vLLM for CUDA {wanted}, which stands in an index of its own and"
        f" not on PyPI; or torch {torch} in its default build"
        + (f", which is for CUDA {cuda.value}" if cuda is not None else ""),
        (remedies.pip_install(python.executable, "--force-reinstall", f"torch=={torch}"),)
        if fits
        else (),
    )


@check(
    "vllm.install.libraries",
    "C and C++ libraries under the modules",
    reads=("host", "python"),
    reports=("vllm-project/vllm#6562", "llm-d/llm-d-kv-cache#445"),
    fix="Use a newer system or container, or build on this one.",
)
def libraries(context: Context) -> Iterator[Finding]:
    """Whether glibc and libstdc++ here have the versions that the installed modules ask for.

    A module that was compiled elsewhere asks for the versions of that system:
    "version `GLIBC_2.32' not found". The versions that the symbols ask for count, not the wheel's
    tag.
    """
    python = context.need("python", context.snapshot.python)
    host = context.snapshot.host
    here = {
        "GLIBC": (host.glibc if host is not None else None, "the C library"),
        "GLIBCXX": (python.glibcxx, python.libstdcxx or "libstdc++.so.6"),
        "CXXABI": (python.cxxabi, python.libstdcxx or "libstdc++.so.6"),
    }
    for family, (have, where) in here.items():
        asking = [each for each in python.binaries if _asks(each, family)]
        if asking and have is not None:
            yield _library(context, family, have, where, asking)


def _asks(code: DeviceCode, family: str) -> str | None:
    return {"GLIBC": code.glibc, "GLIBCXX": code.glibcxx, "CXXABI": code.cxxabi}[family]


def _library(
    context: Context, family: str, have: str, where: str, asking: list[DeviceCode]
) -> Finding:
    newest = max(asking, key=lambda each: selection.version(_asks(each, family)))
    wanted = _asks(newest, family) or ""
    good = selection.version(wanted) <= selection.version(have)
    name = "glibc" if family == "GLIBC" else "libstdc++"
    status: Status = "fail" if context.target.serves else "warn"
    return Finding(
        "vllm.install.libraries",
        "pass" if good else status,
        f"{name} here has {family}_{have}, {newest.owner}"
        f" {'asks' if good else 'cannot be loaded: it asks'} for {family}_{wanted}",
        found=f"{family}_{have}",
        expected=f"at least {family}_{wanted}",
        evidence=(Evidence(f"{family}_{wanted}", newest.path), Evidence(f"{family}_{have}", where)),
        remedy=None
        if good
        else Remedy(
            "use a container or a system with a newer C library, or build vLLM on this one"
            if family == "GLIBC"
            else "use the libstdc++ of a newer gcc (conda's libstdcxx-ng, or LD_LIBRARY_PATH to"
            " the one that the module was built with), or build the module on this system"
        ),
    )


@check(
    "vllm.wheel.glibc",
    "wheel of the release",
    reads=("host", "python"),
    reports=("vllm-project/vllm#58270",),
    fix="Use a newer system, another release, or build from source.",
)
def wheel(context: Context) -> Iterator[Finding]:
    """Whether pip would take the release's wheel on this system, by its tag.

    pip says "no matching distribution" then, and does not say that it means glibc. A system with
    another C library, such as Alpine, takes no wheel of vLLM at all.
    """
    if not context.target.serves:
        return
    host = context.need("host", context.snapshot.host)
    tag = stack.wheel_glibc(context.release.name)
    if tag is None:
        return
    glibc = f"glibc {host.glibc}" if host.glibc is not None else "the C library, which is no glibc,"
    good = selection.version(host.glibc) >= selection.version(tag.what)
    python = context.snapshot.python
    if not good and python is not None and python.distribution("vllm") is not None:
        # pip took it, or it was built here: its symbols decide, and they have a finding.
        return
    status: Status = "fail" if context.target.purpose == "serve" else "warn"
    yield Finding(
        "vllm.wheel.glibc",
        "pass" if good else status,
        f"{glibc} {'is enough' if good else 'does not do'} for the wheel of"
        f" vLLM {context.release.name}, {', '.join(tag.names)}",
        found=f"glibc {host.glibc}" if host.glibc is not None else "no glibc",
        expected=f"glibc >= {tag.what}",
        evidence=(Evidence(host.glibc or "none", "confstr CS_GNU_LIBC_VERSION"),),
        source=(tag.place.source(f"{', '.join(tag.names)} asks for glibc >= {tag.what}"),),
        remedy=None
        if good
        else Remedy(
            "use a container or a system with a newer glibc, or build vLLM here from source: pip"
            " refuses the wheel for its tag, whatever the version of Python"
        ),
    )
