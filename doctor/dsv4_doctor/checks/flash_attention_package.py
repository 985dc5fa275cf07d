"""Separate FlashAttention packages: made for this torch, and for this GPU."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

from dsv4_doctor.arch import Arch
from dsv4_doctor.checks import selection
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.knowledge import stack
from dsv4_doctor.report import Command, Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.facts.python import PythonEnvironment
    from dsv4_doctor.report import Status

# flash_attn-2.8.3+cu12torch2.8cxx11abiFALSE-cp312-cp312-linux_x86_64.whl
_TAG = re.compile(
    r"\+cu(?P<cuda>\d{2})\d*torch(?P<torch>\d+\.\d+)(?:\.\d+)?cxx11abi(?P<abi>TRUE|FALSE)"
    r"-cp(?P<python>\d+)-"
)
_MODULES = {
    "flash_attn_cuda": "FlashAttention 1",
    "flash_attn_2_cuda": "FlashAttention 2",
    "flash_attn_3_cuda": "FlashAttention 3",
}


@check(
    "flash_attn.package.torch",
    "flash-attn and torch",
    reads=("python",),
    reports=(
        "Dao-AILab/flash-attention#1644",
        "Dao-AILab/flash-attention#1717",
        "Dao-AILab/flash-attention#1832",
    ),
    fix="Install the wheel of flash-attn whose tag fits, or have it built here.",
)
def fits(context: Context) -> Iterator[Finding]:
    """Whether the wheel of flash-attn was built for this torch, CUDA, Python and C++ ABI.

    All four stand in the name of the wheel. With another torch it fails at import:
    "undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationE…". Where the name is not recorded,
    ``--deep`` resolves its symbols.
    """
    python = context.need("python", context.snapshot.python)
    dist = python.distribution("flash-attn")
    tag = _TAG.search(unquote(dist.origin or "")) if dist is not None else None
    if dist is None or tag is None or python.torch is None:
        return
    bad = list(_differences(python, tag))
    status: Status = "fail" if context.target.serves else "warn"
    yield Finding(
        "flash_attn.package.torch",
        status if bad else "pass",
        f"flash-attn {dist.version} was built for "
        + (", ".join(f"{asked}, here is {have}" for asked, have in bad) if bad else "this torch"),
        found=", ".join(have for _, have in bad) or python.torch.version,
        expected=tag[0].strip("+-"),
        evidence=(
            Evidence(dist.origin or "", "direct_url.json of flash-attn"),
            Evidence(python.torch.version, python.torch.path),
        ),
        remedy=_rebuild(python, dist.version) if bad else None,
    )


def _differences(python: PythonEnvironment, tag: re.Match[str]) -> Iterator[tuple[str, str]]:
    """Yield what the wheel was built for and what is here instead."""
    torch = python.torch
    if torch is None:
        return
    public = selection.version(torch.version)
    if f"{public.major}.{public.minor}" != tag["torch"]:
        yield f"torch {tag['torch']}", f"torch {torch.version}"
    if torch.cuda is not None and torch.cuda.partition(".")[0] != tag["cuda"]:
        yield f"CUDA {tag['cuda']}", f"CUDA {torch.cuda}"
    if torch.cxx11_abi is not None and torch.cxx11_abi != (tag["abi"] == "TRUE"):
        here = "TRUE" if torch.cxx11_abi else "FALSE"
        yield f"C++11 ABI {tag['abi']}", f"C++11 ABI {here}"
    major_minor = "".join(python.version.split(".")[:2])
    if major_minor != tag["python"]:
        yield f"Python cp{tag['python']}", f"Python {python.version}"


def _rebuild(python: PythonEnvironment, version: str) -> Remedy:
    return Remedy(
        "build it against the torch that is here (an hour and more), or take the wheel whose name"
        " has this torch, CUDA, ABI and Python; vLLM itself does not need the package",
        (
            Command(env={"FLASH_ATTENTION_FORCE_BUILD": "TRUE"}),
            Command(
                argv=(python.executable, "-m", "pip", "install", "--no-build-isolation",
                      "--no-cache-dir", "--force-reinstall", "--no-deps",
                      f"flash-attn=={version}"),
            ),
        ),
    )  # fmt: skip


@check(
    "flash_attn.package.gpu",
    "flash-attn and the GPU",
    reads=("gpus", "python"),
    reports=("Dao-AILab/flash-attention#535",),
    fix="Use another attention backend on this GPU.",
)
def gpu(context: Context) -> Iterator[Finding]:
    """Whether the installed flash-attn is for the GPUs that are wanted, and which version it is.

    The name of its module tells the version: ``flash_attn_cuda`` is FlashAttention 1,
    ``flash_attn_2_cuda`` 2, ``flash_attn_3_cuda`` 3, ``flash_attn.cute`` 4. FlashAttention 2 is
    for compute capability 8.0 and newer.
    """
    python = context.need("python", context.snapshot.python)
    dist = python.distribution("flash-attn")
    wanted = selection.wanted_archs(context)
    if dist is None or not wanted:
        return
    rule = stack.rule("flash-attn.gpu")
    oldest = Arch.parse(rule.archs[0])
    old = [arch for arch in wanted if arch.number < oldest.number]
    modules = [
        each.path.rpartition("/")[2].partition(".")[0]
        for each in python.binaries
        if each.owner == "flash-attn"
    ]
    named = ", ".join(f"{name} ({_MODULES[name]})" for name in modules if name in _MODULES)
    status: Status = "fail" if context.target.purpose == "serve" else "warn"
    yield Finding(
        "flash_attn.package.gpu",
        status if old else "pass",
        f"flash-attn {dist.version}{' with ' + named if named else ''} is"
        f" {'not for ' + ', '.join(arch.sm for arch in old) if old else 'for this GPU'}",
        found=named or dist.version,
        expected=f"a GPU of compute capability {oldest.dotted} or newer",
        evidence=(Evidence(dist.version, dist.location),),
        source=(rule.source,),
        remedy=Remedy(
            "leave it out on this GPU: vLLM does not need it, and a program that asks for"
            " flash_attn_cuda wants FlashAttention 1"
        )
        if old
        else None,
    )


@check(
    "flash_attn.fa3.gpu",
    "FlashAttention 3 and the GPU",
    reads=("environment", "gpus", "python"),
    reports=("Dao-AILab/flash-attention#1853", "vllm-project/vllm#12429"),
    fix="Ask for FlashAttention 2 on this GPU (4 on 10.x).",
)
def fa3(context: Context) -> Iterator[Finding]:
    """Whether a GPU can have FlashAttention 3 where somebody asks for it.

    Its kernels need the shared memory of 8.0 and 9.0; 8.6, 8.9 and Blackwell cannot have it.
    Asked for are they by VLLM_FLASH_ATTN_VERSION=3, or by the separate package.
    """
    asked = (context.snapshot.environment or {}).get("VLLM_FLASH_ATTN_VERSION") == "3"
    python = context.snapshot.python
    package = python.distribution("flash-attn-3") if python is not None else None
    known = stack.fa3_gpus(context.release.name)
    wanted = selection.wanted_archs(context)
    if known is None or not wanted or not (asked or package):
        return
    bad = [arch for arch in wanted if arch.dotted.rstrip("af") not in known.archs]
    by = (
        "VLLM_FLASH_ATTN_VERSION=3"
        if asked
        else f"flash-attn-3 {package.version if package else ''}"
    )
    names = ", ".join(arch.sm for arch in bad or wanted)
    status: Status = "fail" if asked and context.target.serves else "warn"
    yield Finding(
        "flash_attn.fa3.gpu",
        status if bad else "pass",
        f"{by} asks for FlashAttention 3, which {names} {'cannot have' if bad else 'has'}",
        found=names,
        expected=f"compute capability {', '.join(known.archs)}",
        evidence=(Evidence(by, "environment" if asked else "installed"),),
        source=(known.source,),
        remedy=_fa2(asked) if bad else None,
    )


def _fa2(asked: bool) -> Remedy:
    if asked:
        return Remedy("ask for FlashAttention 2", (Command(env={"VLLM_FLASH_ATTN_VERSION": "2"}),))
    return Remedy("the package is of no use on this GPU: FlashAttention 2 is what runs here")
