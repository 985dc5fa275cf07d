"""Environment variables of torch: architectures of a build, settings of the allocator."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dsv4_doctor.arch import Arch
from dsv4_doctor.checks import selection
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.report import Command, Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

_LIST = "TORCH_CUDA_ARCH_LIST"
_ALLOCATOR = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")
# torch's own names for families; torch/utils/cpp_extension.py turns them into numbers.
_NAMED = frozenset(
    {"ada", "ampere", "blackwell", "hopper", "kepler", "maxwell", "pascal", "turing", "volta"}
)
_NUMBER = re.compile(r"[1-9]\d?\.\d[af]?", re.ASCII)


def parse_arch_list(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Read TORCH_CUDA_ARCH_LIST: the architectures, and the entries that torch cannot read.

    Entries are apart by blanks or semicolons; ``+PTX`` may follow each.
    """
    entries = [each for each in re.split(r"[\s;]+", text) if each]
    good, bad = [], []
    for entry in entries:
        bare = entry[: -len("+PTX")] if entry.upper().endswith("+PTX") else entry
        if _NUMBER.fullmatch(bare):
            good.append(bare)
        elif bare.partition("+")[0].lower() not in _NAMED:
            bad.append(entry)
    return tuple(good), tuple(bad)


def parse_allocator(text: str) -> tuple[str, ...]:
    """Return the entries of PYTORCH_CUDA_ALLOC_CONF that torch cannot read: no ``key:value``.

    A value may be a list in brackets, whose commas and colons are its own.
    """
    flat = re.sub(r"\[[^\]]*\]", "list", text)
    entries = [each.strip() for each in flat.split(",")]
    return tuple(each for each in entries if not re.fullmatch(r"\w+\s*:\s*[\w.]+", each))


@check(
    "env.arch_list.format",
    "TORCH_CUDA_ARCH_LIST",
    reads=("environment",),
    fix='TORCH_CUDA_ARCH_LIST="9.0a"',
)
def arch_list(context: Context) -> Iterator[Finding]:
    """Whether torch can read TORCH_CUDA_ARCH_LIST, and the release compiles for what it names.

    NVIDIA's images set it to architectures of their own; those that the release does not support
    are dropped from its kernels without a word, and a list of them alone gives a wheel without
    kernels.
    """
    environ = context.snapshot.environment or {}
    value = environ.get(_LIST, "")
    if not value.strip() or not context.target.builds:
        return
    named, unread = parse_arch_list(value)
    left_out = _unsupported(context, named)
    wanted = [arch.dotted for arch in selection.wanted_archs(context)]
    bare = {each.rstrip("af") for each in named}
    absent = [each for each in wanted if named and each.rstrip("af") not in bare]
    status, title = "pass", f"{_LIST}={value}"
    if unread:
        status, title = "fail", f"{_LIST}={value}: torch cannot read {unread[0]!r}"
    elif named and len(left_out) == len(named):
        status, title = "fail", f"vLLM {context.release.name} has no kernels for {_LIST}={value}"
    elif absent:
        status, title = "warn", f"{_LIST}={value} leaves out {absent[0]}, which is wanted here"
    elif left_out:
        status, title = "warn", f"vLLM {context.release.name} leaves out {', '.join(left_out)}"
    good = " ".join(wanted) or "9.0a"
    yield Finding(
        "env.arch_list.format",
        "pass" if status == "pass" else "warn" if status == "warn" else "fail",
        title,
        found=value,
        expected='architectures such as "9.0a;10.0", apart by blanks or semicolons',
        evidence=(Evidence(f"{_LIST}={value}", "environment"),),
        remedy=None
        if status == "pass"
        else Remedy("name what will serve", (Command(env={_LIST: good}),)),
    )


def _unsupported(context: Context, named: tuple[str, ...]) -> list[str]:
    known = context.release.archs_for(context.release.main_cuda.value)
    if known is None:
        return []
    return [each for each in named if not known.covers(Arch.parse(each))]


@check(
    "env.torch.allocator",
    "PYTORCH_CUDA_ALLOC_CONF",
    reads=("environment",),
    fix="expandable_segments:True, or unset it",
)
def allocator(context: Context) -> Iterator[Finding]:
    """Whether torch can read the settings of its allocator.

    They are pairs ``key:value`` apart by commas. Written with ``=`` torch ends at the first
    allocation, which is minutes after the start of a server.
    """
    environ = context.snapshot.environment or {}
    for name in _ALLOCATOR:
        value = environ.get(name, "")
        unread = parse_allocator(value) if value.strip() else ()
        if not unread or not context.target.serves:
            continue
        yield Finding(
            "env.torch.allocator",
            "fail",
            f"{name}={value}: torch cannot read {unread[0]!r}",
            found=value,
            expected="key:value, apart by commas",
            evidence=(Evidence(f"{name}={value}", "environment"),),
            remedy=Remedy("correct or unset it", (Command(argv=("unset", name)),)),
        )
