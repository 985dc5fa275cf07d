"""Environment variables of torch: architectures of a build, settings of the allocator."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

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
_NUMBER = r"(?a:[1-9]\d?\.\d[af]?)"


def parse_arch_list(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Read TORCH_CUDA_ARCH_LIST: the architectures, and the entries that torch cannot read.

    Entries are apart by blanks or semicolons; ``+PTX`` may follow each.
    """
    entries = [each for each in re.split(r"[\s;]+", text) if each]
    good, bad = [], []
    for entry in entries:
        bare = entry[: -len("+PTX")] if entry.upper().endswith("+PTX") else entry
        if re.fullmatch(_NUMBER, bare):
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
    reads=("environment", "gpus"),
    fix='Write architectures such as "9.0a;10.0".',
)
def arch_list(context: Context) -> Iterator[Finding]:
    """Whether torch can read TORCH_CUDA_ARCH_LIST.

    It takes numbers with a point, apart by blanks or semicolons, or its own names of families:
    with anything else the build ends while CMake configures. Whether the release supports what
    the list names has a finding of its own.
    """
    value = (context.snapshot.environment or {}).get(_LIST, "")
    _, unread = parse_arch_list(value)
    if not unread or not context.target.builds:
        return
    good = " ".join(arch.dotted for arch in selection.wanted_archs(context)) or "9.0a"
    yield Finding(
        "env.arch_list.format",
        "fail",
        f"{_LIST}={value}: torch cannot read {unread[0]!r}",
        found=value,
        expected='architectures such as "9.0a;10.0", apart by blanks or semicolons',
        evidence=(Evidence(f"{_LIST}={value}", "environment"),),
        remedy=Remedy("name what will serve", (Command(env={_LIST: good}),)),
    )


@check(
    "env.torch.allocator",
    "PYTORCH_CUDA_ALLOC_CONF",
    reads=("environment",),
    fix="Write pairs such as expandable_segments:True, or unset it.",
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
            remedy=Remedy("correct or unset it", (Command(unset=(name,)),)),
        )
