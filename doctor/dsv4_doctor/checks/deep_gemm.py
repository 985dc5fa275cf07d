"""The separate DeepGEMM package: asked for by older releases, in the way of newer ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks import selection
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.knowledge import stack
from dsv4_doctor.report import Command, Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.report import Status


@check(
    "deep_gemm.package.present",
    "the separate DeepGEMM",
    reads=("gpus", "python"),
    reports=("vllm-project/vllm#29943",),
    fix="Install DeepGEMM as the release's tools/install_deepgemm.sh does, or leave it out.",
)
def present(context: Context) -> Iterator[Finding]:
    """Whether a separate deep_gemm is there where the release needs it, and not where it harms.

    Releases before 0.20 do not build DeepGEMM; FP8 models then say "DeepGEMM backend is not
    available or outdated". Newer ones bring it, and an installed package comes before theirs.
    """
    if not context.target.serves:
        return
    python = context.need("python", context.snapshot.python)
    dist = python.distribution("deep-gemm")
    feature = context.release.features.get("deep-gemm")
    own = feature is not None and feature.present
    known = stack.rule("deep-gemm.gpu")
    majors = feature.compute_majors if feature is not None and own else known.majors
    if not any(arch.major in majors for arch in selection.wanted_archs(context)):
        return
    if dist is None and (own or python.distribution("vllm") is None):
        return
    if dist is None:
        context.need_whole("python.distributions")
    status: Status = "warn"
    title = f"vLLM {context.release.name} does not bring DeepGEMM, and none is installed"
    if own and dist is not None:
        title = f"deep-gemm {dist.version} comes before the DeepGEMM that vLLM brings"
    elif dist is not None:
        status, title = "pass", f"deep-gemm {dist.version} is installed"
    yield Finding(
        "deep_gemm.package.present",
        status,
        title,
        found=dist.version if dist is not None else "none",
        expected="none besides vLLM's own" if own else "deep-gemm",
        evidence=(
            Evidence(
                dist.version if dist is not None else "none",
                dist.location if dist is not None else python.prefix,
            ),
        ),
        source=(
            known.source,
            *(place.source("DeepGEMM") for place in (feature.places[:1] if feature else ())),
        ),
        remedy=_remedy(python.executable, own=own) if status == "warn" else None,
    )


def _remedy(executable: str, *, own: bool) -> Remedy:
    if own:
        return Remedy(
            "uninstall it, unless it is there on purpose",
            (Command(argv=(executable, "-m", "pip", "uninstall", "-y", "deep-gemm")),),
        )
    return Remedy(
        "run tools/install_deepgemm.sh of the release's source tree (it needs nvcc), or serve FP8"
        " models without it",
        (Command(env={"VLLM_USE_DEEP_GEMM": "0"}),),
    )
