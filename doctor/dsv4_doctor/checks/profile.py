"""A recommended matrix of versions, held against the machine and against upstream's source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks import selection
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.knowledge import load
from dsv4_doctor.report import Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.knowledge.model import Claim, Profile
    from dsv4_doctor.report import Status


def _ids() -> tuple[str, ...]:
    return tuple(
        f"profile.{name}.{claim.subject}"
        for name in load.profile_names()
        for claim in load.profile(name).claims
    )


@check(
    "profile.matrix.claims",
    "recommended matrix",
    reads=("python", "toolkits"),
    fix="Follow vLLM's own source where it contradicts the matrix.",
    gives=_ids,
)
def claims(context: Context) -> Iterator[Finding]:
    """Whether the machine follows each line of the profile, and upstream does not contradict it.

    A line that upstream's own source contradicts is a warning even where the machine follows it.

    Findings: ``profile.NAME.SUBJECT``, such as ``profile.article.torch``.
    """
    if not context.target.profile:
        return
    profile = load.profile(context.target.profile)
    for claim in profile.claims:
        yield _finding(context, profile, claim)


def _finding(context: Context, profile: Profile, claim: Claim) -> Finding:
    found, where = _found(context, claim.subject)
    follows = found is not None and _matches(found, claim.versions)
    contradicted = claim.verdict == "contradicted"
    status: Status = "pass" if follows and not contradicted else "warn"
    asks = " or ".join(claim.versions)
    title = f"{profile.title} asks for {claim.subject} {asks}"
    if contradicted:
        title += f", vLLM {profile.release}'s own source contradicts it: {claim.upstream}"
    elif not follows:
        title += f", here is {found or 'none'}"
    return Finding(
        f"profile.{profile.name}.{claim.subject}",
        status,
        title,
        found=found or "none",
        expected=f"{claim.subject} {asks}",
        evidence=(Evidence(found or "none", where),) if where else (),
        source=(
            profile.origin.source(f"{claim.subject} {asks}"),
            *((claim.place.source(claim.upstream),) if claim.place else ()),
        ),
        remedy=Remedy(f"follow vLLM's own source: {claim.upstream}") if contradicted else None,
    )


def _found(context: Context, subject: str) -> tuple[str | None, str]:
    """Return what the machine has of a subject, and where it was read."""
    if subject == "cuda":
        toolkit = selection.toolkit(context)
        return (toolkit.release, toolkit.root) if toolkit is not None else (None, "")
    python = context.need("python", context.snapshot.python)
    if subject == "torch":
        return (python.torch.version, python.torch.path) if python.torch else (None, python.prefix)
    dist = python.distribution(subject)
    return (dist.version, dist.location) if dist is not None else (None, python.prefix)


def _matches(found: str, versions: tuple[str, ...]) -> bool:
    public = selection.version(found).public
    return any(public == selection.version(each).public for each in versions)
