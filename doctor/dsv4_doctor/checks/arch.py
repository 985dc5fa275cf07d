"""The architectures: of the GPU, asked for, compilable, supported, and in the installed files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.arch import Arch
from dsv4_doctor.checks import remedies, selection
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.report import Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.facts.python import DeviceCode
    from dsv4_doctor.facts.toolkit import Toolkit
    from dsv4_doctor.report import Status

# Every request goes through these modules whatever the model; the others serve single features.
# By directory, because DeepGEMM's host code in third_party is called _C, too.
_ALWAYS = frozenset(
    {
        ("vllm", "_C"),
        ("vllm", "_moe_C"),
        ("vllm_flash_attn", "_vllm_fa2_C"),
        ("vllm_flash_attn", "vllm_flash_attn_c"),  # 0.6.2 to 0.6.6
    }
)


def _named(toolkit: Toolkit) -> str:
    return f"CUDA {toolkit.release}" if toolkit.release else toolkit.root


def _names(archs: tuple[Arch, ...]) -> str:
    return ", ".join(arch.sm for arch in archs) or "none"


@check(
    "arch.gpu.match",
    "architecture of the GPU",
    reads=("gpus",),
    fix="Name the architecture of the GPUs that will run it with --arch.",
)
def match(context: Context) -> Iterator[Finding]:
    """Whether what was asked for is what the GPUs here are.

    A wheel for another architecture builds without an error and finds no kernel on this one.
    """
    wanted, here = context.target.parsed_archs, selection.gpu_archs(context)
    if not wanted or not here:
        return
    good = {arch.base for arch in here} <= {arch.base for arch in wanted}
    status: Status = "fail" if context.target.purpose == "serve" else "warn"
    yield Finding(
        "arch.gpu.match",
        "pass" if good else status,
        f"the GPUs here are {_names(here)}"
        + (", as asked for" if good else f", asked for is {_names(wanted)}"),
        found=_names(here),
        expected=_names(wanted),
        evidence=tuple(
            Evidence(
                f"{gpu.name}: {gpu.compute_capability or 'not told'}", f"NVML, GPU {gpu.index}"
            )
            for gpu in context.snapshot.gpus or ()
        ),
        remedy=None
        if good
        else Remedy(f"for this machine: --arch {','.join(arch.sm for arch in here)}"),
    )


@check(
    "arch.toolkit.compiles",
    "architecture and toolkit",
    reads=("gpus", "toolkits"),
    fix="Install a toolkit that knows the architecture.",
)
def compiles(context: Context) -> Iterator[Finding]:
    """Whether nvcc can compile for the architectures that are wanted.

    An older nvcc does not know a newer GPU: the build stops, and so does a kernel that is
    compiled when the server starts.
    """
    toolkit = selection.toolkit(context)
    if toolkit is None or not toolkit.archs or not context.target.builds:
        return
    known = {Arch.parse(arch) for arch in toolkit.archs}
    for arch in selection.wanted_archs(context):
        good = arch in known
        yield Finding(
            "arch.toolkit.compiles",
            "pass" if good else "fail",
            f"{_named(toolkit)} {'compiles' if good else 'cannot compile'} for {arch.sm}",
            found=", ".join(toolkit.archs),
            expected=arch.sm,
            evidence=(Evidence(", ".join(toolkit.archs), f"{toolkit.nvcc or 'nvcc'} --help"),),
            remedy=None if good else remedies.install_toolkit(context.release.main_cuda.value),
        )


@check(
    "arch.release.supports",
    "architecture and release",
    reads=("gpus", "toolkits"),
    fix="Choose a release that supports the GPU; dsv4-doctor releases find --arch names them.",
)
def supports(context: Context) -> Iterator[Finding]:
    """Whether the release compiles its kernels for the architectures that are wanted.

    What upstream's list lacks is left out of a build, whatever ``TORCH_CUDA_ARCH_LIST`` says.
    """
    toolkit = selection.toolkit(context)
    release = context.release
    nvcc = (toolkit.nvcc_version if toolkit is not None else None) or release.main_cuda.value
    supported = release.archs_for(nvcc)
    if supported is None:
        return
    for arch in selection.wanted_archs(context):
        good = supported.covers(arch)
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


@check(
    "arch.installed.runs",
    "architectures of the installed files",
    reads=("gpus", "python"),
    reports=("vllm-project/vllm#16901", "vllm-project/vllm#39233", "vllm-project/vllm#19328"),
    fix="Install or build a vLLM with code for this GPU.",
)
def installed(context: Context) -> Iterator[Finding]:
    """Whether the device code of the installed vLLM runs on the GPUs that are wanted.

    Only the modules that every request goes through decide; others serve single features, and
    those features have findings of their own.
    """
    python = context.need("python", context.snapshot.python)
    archs = selection.wanted_archs(context)
    modules = [code for code in python.binaries if code.owner == "vllm" and _serves_all(code)]
    if not archs or not modules:
        return
    results = [_result(code, arch) for code in modules for arch in archs]
    order: tuple[Status, ...] = ("fail", "unknown", "pass")
    status = next(each for each in order if any(each == result for result, _, _ in results))
    if status == "fail" and not context.target.serves:
        status = "warn"
    first = next((text for result, text, _ in results if result != "pass"), "")
    yield Finding(
        "arch.installed.runs",
        status,
        f"the installed vLLM has code for {_names(archs)}" if status == "pass" else first,
        found="; ".join(f"{_stem(code)}: {_listed(code)}" for code in modules),
        expected=f"code that runs on {_names(archs)}",
        evidence=tuple(Evidence(text, path) for _, text, path in results),
        remedy=None
        if status == "pass"
        else Remedy("install or build a vLLM for this GPU, for example with dsv4-doctor build"),
    )


def _serves_all(code: DeviceCode) -> bool:
    directory = code.path.rpartition("/")[0].rpartition("/")[2]
    return (directory, _stem(code)) in _ALWAYS


def _stem(code: DeviceCode) -> str:
    name = code.path.rpartition("/")[2].split(".")[0]
    return name.removesuffix("_stable_libtorch")


def _listed(code: DeviceCode) -> str:
    return ", ".join((*code.sass, *code.ptx)) or code.error or "no device code"


def _result(code: DeviceCode, arch: Arch) -> tuple[Status, str, str]:
    # Imported here: it is needed only where vLLM is installed.
    from dsv4_doctor.binary.compatibility import runs_on  # noqa: PLC0415

    if code.error is not None:
        return "unknown", f"{_stem(code)} could not be read: {code.error}", code.path
    verdict = runs_on(arch.base, map(Arch.parse, code.sass), map(Arch.parse, code.ptx))
    status: Status = "pass" if verdict.runs else "fail"
    return status, f"{_stem(code)}: {verdict.reason}", code.path
