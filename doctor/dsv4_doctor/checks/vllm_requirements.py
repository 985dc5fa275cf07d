"""What the installed vLLM asks of other packages, and what is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks import remedies, requirement
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.knowledge.model import accepts
from dsv4_doctor.report import Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.checks.requirement import Asked
    from dsv4_doctor.facts.python import Distribution, PythonEnvironment
    from dsv4_doctor.report import Status

_SHOWN = 3


@check(
    "vllm.install.requirements",
    "requirements of the installed vLLM",
    reads=("python",),
    reports=("vllm-project/vllm#44949",),
    fix="Install the versions that this vLLM asks for.",
)
def met(context: Context) -> Iterator[Finding]:
    """Whether the packages that the installed vLLM asks for are there in the versions asked for.

    FlashInfer, TileLang, CUTLASS's DSL and others are pinned to one version, because their
    interfaces change with every release. Another package that is installed later, or an upgrade of
    one of them, breaks vLLM without a word from pip. torch has a finding of its own.
    """
    python = context.need("python", context.snapshot.python)
    vllm = python.distribution("vllm")
    asked = list(_asked(vllm)) if vllm is not None else []
    if vllm is None or not asked:
        return
    missing = [each for each in asked if python.distribution(each.name) is None]
    if missing:
        context.need_whole("python.distributions")
    other = list(_differing(python, asked))
    status: Status = "warn" if other or missing else "pass"
    if missing and context.target.purpose == "serve":
        status = "fail"
    parts = [f"lacks {_few([each.text for each in missing])}"] if missing else []
    if other:
        parts.append(f"asks for {_few([f'{want.text}, not {have}' for want, have in other])}")
    wrong = [*missing, *(want for want, _ in other)]
    yield Finding(
        "vllm.install.requirements",
        status,
        f"vllm {vllm.version} {'; '.join(parts)}"
        if parts
        else f"vllm {vllm.version} has the packages that it asks for",
        found=", ".join([*(f"no {each.name}" for each in missing), *(have for _, have in other)])
        or "as asked for",
        expected=", ".join(each.text for each in wrong) or f"{len(asked)} requirements",
        evidence=tuple(Evidence(f"Requires-Dist: {each.text}", vllm.location) for each in wrong)
        or (Evidence("all met", vllm.location),),
        remedy=Remedy(
            "install the versions that this vLLM asks for",
            (remedies.pip_install(python.executable, *(each.text for each in wrong)),),
        )
        if wrong
        else None,
    )


def _asked(vllm: Distribution) -> Iterator[Asked]:
    """Yield the requirements that hold on every machine; torch's are left out."""
    for text in vllm.requires:
        asked = requirement.parse(text)
        if asked is not None and ";" not in text and not asked.name.startswith("torch"):
            yield asked


def _differing(python: PythonEnvironment, asked: list[Asked]) -> Iterator[tuple[Asked, str]]:
    for each in asked:
        dist = python.distribution(each.name)
        if dist is not None and not accepts(each.specifier, dist.version):
            yield each, f"{dist.name} {dist.version}"


def _few(texts: list[str]) -> str:
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return "; ".join(texts[:_SHOWN]) + more
