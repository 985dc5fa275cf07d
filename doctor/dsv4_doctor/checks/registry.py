"""Registering checks, and running them over one snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from dsv4_doctor.checks.untold import NotKnownError as NotKnownError  # noqa: PLC0414 - raised here
from dsv4_doctor.checks.untold import View
from dsv4_doctor.lazy_dataclass import dataclass, replace
from dsv4_doctor.report import Evidence, Finding

if TYPE_CHECKING:
    from dsv4_doctor.checks.choice import Choice
    from dsv4_doctor.knowledge.model import Release
    from dsv4_doctor.snapshot import Snapshot
    from dsv4_doctor.target import Target

T = TypeVar("T")

# In the order in which a report shows the areas.
MODULES: tuple[str, ...] = (
    "platform",
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
    "vllm_requirements",
    "vllm_objects",
    "vllm_modules",
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

    def need_whole(self, path: str) -> None:
        """Ask for the whole of a list, before something is said to be missing from it.

        Args:
            path: Section and field, such as ``python.distributions``.

        Raises:
            NotKnownError: The snapshot says of this list that it has not everything.
        """
        run = self.snapshot.probe(path)
        if run is not None and run.error is not None:
            raise NotKnownError(path, run.error, run.seconds)


Rule: TypeAlias = Callable[[Context], Iterable[Finding]]
# A function, because names in some ids come from knowledge files that a plain run does not read.
Ids: TypeAlias = Callable[[], tuple[str, ...]]


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
        gives: Returns the ids of its findings; for most checks that is its own.
    """

    id: str
    title: str
    rule: Rule
    reads: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()
    fix: str = ""
    gives: Ids | None = None

    @property
    def summary(self) -> str:
        """What the check does and why, from its docstring."""
        import inspect  # noqa: PLC0415 - a check runs without it

        return inspect.cleandoc(self.rule.__doc__ or "")

    @property
    def findings(self) -> tuple[str, ...]:
        """The ids of all findings that it can give."""
        return self.gives() if self.gives is not None else (self.id,)


_CHECKS: dict[str, Check] = {}


def check(  # noqa: PLR0913 - one argument for each thing that is told of a check
    identifier: str,
    title: str,
    *,
    reads: tuple[str, ...] = (),
    reports: tuple[str, ...] = (),
    fix: str = "",
    gives: Ids | None = None,
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
        _CHECKS[identifier] = Check(identifier, title, rule, reads, reports, fix, gives)
        return rule

    return register


def all_checks() -> tuple[Check, ...]:
    """Return every check, in the order of a report."""
    for module in MODULES:
        import_module(f"dsv4_doctor.checks.{module}")
    return tuple(_CHECKS.values())


def run_checks(
    context: Context, checks: Iterable[Check] | None = None, choice: Choice | None = None
) -> tuple[Finding, ...]:
    """Run the checks and return their findings.

    A check whose facts are missing gives one ``unknown`` finding that names the probe, and one
    that looked only at a part of a list does not pass.

    Args:
        checks: Those to run, all of them without.
        choice: What is asked for of these; a check of which nothing is asked for is not run.
    """
    chosen = all_checks() if checks is None else checks
    view = View(context.snapshot)
    seen = Context(view.snapshot, context.target, context.release)
    if choice is None:
        return tuple(finding for each in chosen for finding in _findings(each, seen, view))
    return tuple(
        finding
        for each in chosen
        if choice.runs(each)
        for finding in _findings(each, seen, view)
        if choice.keeps(each, finding.id)
    )


def _findings(each: Check, context: Context, view: View) -> Iterator[Finding]:
    view.forget()
    try:
        for finding in each.rule(context):
            yield _as_far_as_told(finding, view)
    except NotKnownError as missing:
        took = f" after {missing.seconds:.1f} s" if missing.seconds else ""
        yield Finding(
            id=each.id,
            status="unknown",
            title=f"{each.title}: could not be told",
            found=f"probe {missing.section}: {missing.reason}",
            evidence=(Evidence(missing.reason, f"probe {missing.section}{took}"),),
        )


def _as_far_as_told(finding: Finding, view: View) -> Finding:
    """Return the finding, ``unknown`` where it passes on a list that may lack something."""
    if not view.incomplete or finding.status not in {"pass", "skip"}:
        return finding
    evidence = tuple(Evidence(reason, path) for path, reason in view.incomplete.items())
    return replace(
        finding,
        status="unknown",
        title=f"as far as is told: {finding.title}",
        evidence=(*finding.evidence, *evidence),
    )
