"""CUDA_HOME: set, there, a fixed version, and what everything else would pick, too."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dsv4_doctor.checks import remedies, selection
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.report import Command, Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.facts.toolkit import PathChain
    from dsv4_doctor.report import Status

_VERSIONED = re.compile(r"\d+\.\d+")


def _arrows(chain: PathChain) -> str:
    return " -> ".join((chain.value, *chain.hops))


@check(
    "cuda.home.set",
    "CUDA_HOME",
    reads=("toolkits",),
    reports=("vllm-project/vllm#36077",),
    fix="Set CUDA_HOME to the directory of one toolkit.",
)
def is_set(context: Context) -> Iterator[Finding]:
    """Whether CUDA_HOME is set to a directory that exists.

    Unset, each tool guesses: torch takes CUDA_PATH, then nvcc on PATH, then /usr/local/cuda.
    """
    toolkits = context.need("toolkits", context.snapshot.toolkits)
    home = toolkits.cuda_home
    toolkit = selection.toolkit(context)
    expected = "set to the directory of one toolkit"
    if home is None:
        if toolkit is None:
            return
        yield Finding(
            "cuda.home.set",
            "warn" if context.target.builds else "skip",
            "CUDA_HOME is not set: every tool guesses for itself",
            found="not set",
            expected=expected,
            evidence=(Evidence("not set", "environment"),),
            remedy=remedies.use_toolkit(toolkit.root),
        )
        return
    yield Finding(
        "cuda.home.set",
        "pass" if home.exists else "fail",
        f"CUDA_HOME={home.value}" + ("" if home.exists else " does not exist"),
        found=_arrows(home) + ("" if home.exists else " (not there)"),
        expected=expected,
        evidence=(Evidence(home.value, "environment"),),
        remedy=None if home.exists else _instead(toolkit.root if toolkit else None),
    )


def _instead(root: str | None) -> Remedy:
    if root is not None:
        return remedies.use_toolkit(root)
    return Remedy(
        "unset it, or set it to a toolkit that exists",
        (Command(unset=("CUDA_HOME",), safe=True),),
    )


@check(
    "cuda.home.symlink",
    "CUDA_HOME as a link",
    reads=("toolkits",),
    fix="Set CUDA_HOME to the directory that has the version in its name.",
)
def pinned(context: Context) -> Iterator[Finding]:
    """Whether CUDA_HOME leads through a link whose name holds no version.

    Such a link moves when another toolkit is installed or ``update-alternatives`` runs, and a
    build that is resumed then mixes two toolkits.
    """
    home = context.need("toolkits", context.snapshot.toolkits).cuda_home
    if home is None or not home.exists:
        return
    loose = bool(home.hops) and _VERSIONED.search(home.value.rstrip("/").rpartition("/")[2]) is None
    yield Finding(
        "cuda.home.symlink",
        "warn" if loose else "pass",
        f"CUDA_HOME is an unversioned link: {_arrows(home)}"
        if loose
        else "CUDA_HOME names one version",
        found=_arrows(home),
        expected="a directory with its version in the name, not a link that can move",
        evidence=(Evidence(_arrows(home), "readlink, link by link"),),
        remedy=remedies.use_toolkit(home.real) if loose else None,
    )


@check(
    "cuda.home.agreement",
    "one toolkit for all",
    reads=("toolkits",),
    reports=("vllm-project/vllm#4313",),
    fix="Set CUDA_HOME to one toolkit and put its bin directory first on PATH.",
)
def agreement(context: Context) -> Iterator[Finding]:
    """Whether PATH, torch and CMake would pick the toolkit that CUDA_HOME names.

    CMake's FindCUDA takes nvcc from PATH and never looks at CUDA_HOME, so the two have to agree.
    Torch and CMake both take two directories above the nvcc that they find for the toolkit, which
    a wrapper script such as /usr/local/bin/nvcc leads astray.
    """
    toolkits = context.need("toolkits", context.snapshot.toolkits)
    toolkit = selection.toolkit(context)
    if toolkit is None:
        return
    home = toolkits.cuda_home
    picks = {
        "CUDA_HOME": home.real if home is not None and home.exists else None,
        "PATH": toolkits.picks.path,
        "torch": toolkits.picks.torch,
        "CMake": toolkits.picks.cmake,
    }
    if home is None:
        del picks["CUDA_HOME"]
    known = {each.root for each in toolkits.found}
    described = {
        name: root if root in known else f"{root} (no toolkit)" if root else "none"
        for name, root in picks.items()
    }
    good = set(picks.values()) == {toolkit.root}
    yield Finding(
        "cuda.home.agreement",
        "pass" if good else _severity(context, picks),
        "PATH, torch and CMake pick the same toolkit"
        if good
        else "PATH, torch and CMake do not pick the same toolkit",
        found=", ".join(f"{name}: {root}" for name, root in described.items()),
        expected="one toolkit for all",
        evidence=tuple(
            Evidence(str(root), f"what {name} leads to") for name, root in described.items()
        ),
        remedy=None if good else remedies.use_toolkit(toolkit.root),
    )


def _severity(context: Context, picks: dict[str, str | None]) -> Status:
    releases = {
        each.root: each.release
        for each in context.need("toolkits", context.snapshot.toolkits).found
    }
    several = len({releases.get(root) for root in picks.values() if root}) > 1
    return "fail" if several and context.target.builds else "warn"
