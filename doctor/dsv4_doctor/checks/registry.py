"""Registering checks, and running them over one snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from dsv4_doctor.report import Evidence, Finding

if TYPE_CHECKING:
    from dsv4_doctor.knowledge.model import Release
    from dsv4_doctor.snapshot import Snapshot
    from dsv4_doctor.target import Target

T = TypeVar("T")

# In the order in which a report shows the areas.
MODULES: tuple[str, ...] = (
    "driver",
    "cuda_start",
    "cuda_library",
    "fabric",
    "kernel_driver",
    "gpu",
    "rebar",
    "gpu_memory",
    "gpu_mode",
    "nvlink",
    "peers",
    "pcie",
    "toolkit",
    "cuda_home",
    "toolkit_choice",
    "nvidia_wheels",
    "compiler",
    "compiler_step",
    "host_headers",
    "jetson",
    "build_tools",
    "build_tree",
    "build_python",
    "build_resources",
    "serve_resources",
    "container",
    "container_image",
    "env_vllm",
    "env_devices",
    "env_nccl",
    "env_torch",
    "env_network",
    "nccl",
    "python_environment",
    "torch_build",
    "torch_fit",
    "triton_jit",
    "vllm_objects",
    "symbols",
    "flash_attention",
    "flash_attention_package",
    "arch",
    "arch_list",
    "ptx",
    "flashinfer",
    "jit",
    "deep_gemm",
    "features",
    "known_reports",
    "profile",
)


@dataclass(frozen=True)
class Context:
    """What a check may look at: facts, target, and what the target's release needs."""

    snapshot: Snapshot
    target: Target
    release: Release

    def need(self, section: str, value: T | None) -> T:
        """Return a section of the snapshot.

        Raises:
            NotKnownError: Its probe did not answer, or the snapshot was made without it.
        """
        if value is not None:
            return value
        run = self.snapshot.probe(section)
        if run is None:
            raise NotKnownError(section, "the snapshot does not contain it", 0.0)
        raise NotKnownError(section, run.error or "the probe gave no facts", run.seconds)


class NotKnownError(Exception):
    """A check cannot be decided because its facts are missing."""

    def __init__(self, section: str, reason: str, seconds: float) -> None:
        super().__init__(f"{section}: {reason}")
        self.section = section
        self.reason = reason
        self.seconds = seconds


Rule: TypeAlias = Callable[[Context], Iterable[Finding]]


@dataclass(frozen=True)
class Check:
    """One registered check.

    Attributes:
        id: The id of its findings, or their common prefix when it gives several.
        title: What it looks at, for the findings that it cannot decide.
        reads: Sections of the snapshot that it looks at.
        reports: Public reports that it would have prevented: ``owner/repository#number``, or the
            address of a page.
        fix: What usually mends it, in a sentence; a finding's remedy is the exact one.
    """

    id: str
    title: str
    rule: Rule
    reads: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()
    fix: str = ""

    @property
    def summary(self) -> str:
        """What the check does, from its docstring."""
        return (self.rule.__doc__ or "").strip()


_CHECKS: dict[str, Check] = {}


def check(
    identifier: str,
    title: str,
    *,
    reads: tuple[str, ...] = (),
    reports: tuple[str, ...] = (),
    fix: str = "",
) -> Callable[[Rule], Rule]:
    """Register a check under its id, with what ``checks show`` tells of it.

    The docstring of the rule says in its first paragraph what it decides, and then why it matters.

    Raises:
        ValueError: The id is taken, or is not ``area.subject.rule``.
    """

    def register(rule: Rule) -> Rule:
        if identifier in _CHECKS or identifier.count(".") != 2:
            msg = f"check id {identifier!r} is taken or not of the form area.subject.rule"
            raise ValueError(msg)
        _CHECKS[identifier] = Check(identifier, title, rule, reads, reports, fix)
        return rule

    return register


def all_checks() -> tuple[Check, ...]:
    """Return every check, in the order of a report."""
    for module in MODULES:
        import_module(f"dsv4_doctor.checks.{module}")
    return tuple(_CHECKS.values())


def run_checks(context: Context, checks: Iterable[Check] | None = None) -> tuple[Finding, ...]:
    """Run the checks and return their findings.

    A check whose facts are missing gives one ``unknown`` finding that names the probe.
    """
    chosen = all_checks() if checks is None else checks
    return tuple(finding for each in chosen for finding in _findings(each, context))


def _findings(each: Check, context: Context) -> Iterator[Finding]:
    try:
        yield from each.rule(context)
    except NotKnownError as missing:
        took = f" after {missing.seconds:.1f} s" if missing.seconds else ""
        yield Finding(
            id=each.id,
            status="unknown",
            title=f"{each.title}: could not be told",
            found=f"probe {missing.section}: {missing.reason}",
            evidence=(Evidence(missing.reason, f"probe {missing.section}{took}"),),
        )
