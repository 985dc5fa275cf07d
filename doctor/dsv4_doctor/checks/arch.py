"""The architectures: of the GPU, asked for, compilable, supported, and in the installed files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.arch import Arch
from dsv4_doctor.checks import remedies, selection
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.report import Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.snapshot import DeviceCode

# Every request goes through these modules whatever the model; the others serve single features.
_ALWAYS = ("_C", "_moe_C", "_vllm_fa2_C")


def _names(archs: tuple[Arch, ...]) -> str:
    return ", ".join(arch.sm for arch in archs) or "none"


@check("arch.gpu.match", "architecture of the GPU")
def match(context: Context) -> Iterator[Finding]:
    """Whether what was asked for is what the GPUs here are."""
    wanted, here = context.target.parsed_archs, selection.gpu_archs(context)
    if not wanted or not here:
        return
    good = {arch.base for arch in here} <= {arch.base for arch in wanted}
    status = "fail" if context.target.purpose == "serve" else "warn"
    yield Finding(
        "arch.gpu.match",
        "pass" if good else status,
        f"the GPUs here are {_names(here)}"
        + (", as asked for" if good else f", asked for is {_names(wanted)}"),
        found=_names(here),
        expected=_names(wanted),
        evidence=tuple(
            Evidence(f"{gpu.name}: {gpu.compute_capability}", f"NVML, GPU {gpu.index}")
            for gpu in context.snapshot.gpus or ()
        ),
        remedy=None
        if good
        else Remedy(f"for this machine: --arch {','.join(arch.sm for arch in here)}"),
    )


@check("arch.toolkit.compiles", "architecture and toolkit")
def compiles(context: Context) -> Iterator[Finding]:
    """Whether nvcc can compile for the architectures that are wanted."""
    toolkit = selection.toolkit(context)
    if toolkit is None or not toolkit.archs or not context.target.builds:
        return
    known = {Arch.parse(arch) for arch in toolkit.archs}
    for arch in selection.wanted_archs(context):
        good = arch in known
        yield Finding(
            "arch.toolkit.compiles",
            "pass" if good else "fail",
            f"CUDA {toolkit.release} {'compiles' if good else 'cannot compile'} for {arch.sm}",
            found=", ".join(toolkit.archs),
            expected=arch.sm,
            evidence=(Evidence(", ".join(toolkit.archs), f"{toolkit.nvcc} --list-gpu-code"),),
            remedy=None if good else remedies.install_toolkit(context.release.main_cuda.value),
        )


@check("arch.release.supports", "architecture and release")
def supports(context: Context) -> Iterator[Finding]:
    """Whether the release compiles its kernels for the architectures that are wanted."""
    toolkit = selection.toolkit(context)
    release = context.release
    nvcc = (toolkit.nvcc_version if toolkit is not None else None) or release.main_cuda.value
    supported = release.archs_for(nvcc)
    if supported is None:
        return
    for arch in selection.wanted_archs(context):
        # vLLM takes the newest supported architecture of the same major that is not newer.
        good = any(
            each.major == arch.major and each.minor <= arch.minor for each in supported.archs
        )
        listed = ", ".join(each.dotted for each in supported.archs)
        yield Finding(
            "arch.release.supports",
            "pass" if good else "fail",
            f"vLLM {release.name} {'supports' if good else 'has no kernels for'} {arch.sm}"
            f" with nvcc {nvcc}",
            found=listed,
            expected=arch.dotted,
            source=(supported.place.source(f"CUDA_SUPPORTED_ARCHS with nvcc {supported.nvcc}"),),
            remedy=None if good else Remedy("choose a release and a toolkit that support this GPU"),
        )


@check("arch.installed.runs", "architectures of the installed files")
def installed(context: Context) -> Iterator[Finding]:
    """Whether the device code of the installed extension modules runs on the GPUs wanted."""
    python = context.need("python", context.snapshot.python)
    archs = selection.wanted_archs(context)
    for code in python.binaries:
        if code.owner != "vllm" or not archs:
            continue
        yield _runs(context, code, archs)


def _runs(context: Context, code: DeviceCode, archs: tuple[Arch, ...]) -> Finding:
    # Imported here: it is needed only where vLLM is installed.
    from dsv4_doctor.binary.compatibility import runs_on  # noqa: PLC0415

    name = code.path.rpartition("/")[2]
    stem = name.split(".")[0].removesuffix("_stable_libtorch")
    driver = context.snapshot.driver
    if code.error is not None:
        return Finding("arch.installed.runs", "unknown", f"{name}: {code.error}", found=code.error)
    verdicts = {
        arch: runs_on(
            arch.base,
            tuple(map(Arch.parse, code.sass)),
            tuple(map(Arch.parse, code.ptx)),
        )
        for arch in archs
    }
    del driver
    bad = [arch for arch, verdict in verdicts.items() if not verdict]
    status = "fail" if bad and stem in _ALWAYS and context.target.serves else "pass"
    return Finding("arch.installed.runs", status, name)  # type: ignore[arg-type]
