"""vLLM as installed, and FlashAttention in it: FA3 is believed only when its kernels are there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks import remedies, selection, severity
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.report import Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.facts.python import DeviceCode, PythonEnvironment
    from dsv4_doctor.report import Status

FA3_MODULE = "_vllm_fa3_C"


@check(
    "vllm.install.release",
    "installed vLLM",
    reads=("python",),
    fix="Install or build that release, or report on the one that is there with --vllm.",
)
def installed(context: Context) -> Iterator[Finding]:
    """Whether vLLM is installed, in the release that the report is about.

    A machine that builds has no need of one; one that serves has.
    """
    python = context.need("python", context.snapshot.python)
    dist = python.distribution("vllm")
    wanted = context.release.name
    if dist is None:
        status = severity.missing_for_serving(context.target)
        yield Finding(
            "vllm.install.release",
            status,
            f"vLLM is not installed in {python.prefix}"
            + (": none is needed to build" if status == "skip" else ""),
            found="none",
            expected=f"vllm {wanted}",
            evidence=(Evidence("none", python.prefix),),
            remedy=None
            if status == "skip"
            else Remedy(
                f"install or build vLLM {wanted}",
                (remedies.pip_install(python.executable, f"vllm=={wanted}"),),
            ),
        )
        return
    good = selection.version(dist.version).public == selection.version(wanted).public
    yield Finding(
        "vllm.install.release",
        "pass" if good else ("warn" if context.target.serves else "skip"),
        f"vLLM {dist.version} is installed" + ("" if good else f", the report is about {wanted}"),
        found=dist.version,
        expected=f"vllm {wanted}",
        evidence=(Evidence(dist.version, dist.location),),
        remedy=None
        if good
        else Remedy(f"for a report about what is installed: --vllm {dist.version}"),
    )


@check(
    "flash_attn.package.build",
    "the flash-attn package",
    reads=("python",),
    fix="Nothing: vLLM needs no separate flash-attn.",
)
def package(context: Context) -> Iterator[Finding]:
    """Whether a separate flash-attn package is installed, which vLLM does not need.

    vLLM builds FlashAttention itself; the separate package matters only to other programs.
    """
    python = context.need("python", context.snapshot.python)
    feature = context.release.features.get("fa2")
    source = tuple(
        place.source("vLLM builds its own FlashAttention")
        for place in (feature.places[:1] if feature else ())
    )
    dist = python.distribution("flash-attn")
    code = [each for each in python.binaries if each.owner == "flash-attn"]
    kernels = "; ".join(_kernels(each) for each in code)
    yield Finding(
        "flash_attn.package.build",
        "skip" if dist is None else "pass",
        "the separate flash-attn package is not installed: vLLM does not need it"
        if dist is None
        else f"flash-attn {dist.version}" + (f" ({kernels})" if kernels else ""),
        found=dist.version if dist is not None else "none",
        expected="none needed",
        evidence=tuple(Evidence(_kernels(each), each.path) for each in code)
        or (Evidence(dist.version if dist else "none", dist.location if dist else python.prefix),),
        source=source,
    )


@check(
    "flash_attn.fa3.package",
    "the separate FA3 package",
    reads=("python",),
    fix="Uninstall it, or reinstall it built for sm_90a.",
)
def fa3_package(context: Context) -> Iterator[Finding]:
    """Whether a separate FA3 package, where there is one, holds Hopper kernels.

    A package that was built for other GPUs imports, and fails at the first call.
    """
    python = context.need("python", context.snapshot.python)
    dist = python.distribution("flash-attn-3")
    if dist is None:
        yield Finding(
            "flash_attn.fa3.package",
            "skip",
            "the separate FA3 package is not installed: vLLM brings its own",
            found="none",
            expected="none needed",
            evidence=(Evidence("none", python.prefix),),
        )
        return
    code = [each for each in python.binaries if each.owner == "flash-attn-3"]
    good = any("sm_90a" in each.sass for each in code)
    yield Finding(
        "flash_attn.fa3.package",
        "pass" if good else "warn",
        f"flash-attn-3 {dist.version} {'has' if good else 'has no'} sm_90a machine code",
        found="; ".join(_kernels(each) for each in code) or "no extension module",
        expected="machine code for sm_90a",
        evidence=tuple(Evidence(_kernels(each), each.path) for each in code),
        remedy=None if good else Remedy("reinstall it, built for sm_90a"),
    )


@check(
    "flash_attn.fa3.kernels",
    "FA3 in vLLM",
    reads=("gpus", "python"),
    fix="Build vLLM for Hopper and have the result proved: dsv4-doctor build --arch sm_90.",
)
def fa3_kernels(context: Context) -> Iterator[Finding]:
    """Whether the installed vLLM really holds FA3 kernels for Hopper.

    A build for the wrong architectures still makes ``_vllm_fa3_C.abi3.so``, only without a
    kernel in it, and vLLM then falls back to FA2 without a word.
    """
    python = context.need("python", context.snapshot.python)
    feature = context.release.features.get("fa3")
    if python.distribution("vllm") is None or feature is None or not feature.present:
        return
    wanted = selection.wanted_archs(context)
    if wanted and not any(arch.major == 9 for arch in wanted):
        return
    code = _module(python, FA3_MODULE)
    status, title = _judge(code)
    yield Finding(
        "flash_attn.fa3.kernels",
        status,
        title,
        found=_kernels(code) if code is not None else f"no {FA3_MODULE}",
        expected=f"{FA3_MODULE} with sm_90a machine code and FA3 kernels",
        evidence=(Evidence(_kernels(code), code.path),) if code is not None else (),
        source=tuple(place.source("FA3 for sm_90a") for place in feature.places),
        remedy=None
        if status == "pass"
        else Remedy(
            "build vLLM for Hopper from its sdist or a checkout and have the result proved:"
            " dsv4-doctor build --arch sm_90 --vllm PATH"
        ),
    )


def _module(python: PythonEnvironment, stem: str) -> DeviceCode | None:
    return next(
        (each for each in python.binaries if each.path.rpartition("/")[2].startswith(stem)), None
    )


def _judge(code: DeviceCode | None) -> tuple[Status, str]:
    if code is None:
        return "fail", f"the installed vLLM has no {FA3_MODULE}: FA3 is not in it"
    if code.error is not None:
        return "unknown", f"{FA3_MODULE} could not be read: {code.error}"
    if "sm_90a" not in code.sass:
        return "fail", f"{FA3_MODULE} is there without machine code for sm_90a: FA3 cannot run"
    if code.families and "fa3" not in code.families:
        return "fail", f"{FA3_MODULE} has sm_90a machine code, but no FA3 kernel in it"
    proof = "FA3 kernels" if code.families else "machine code"
    return "pass", f"{FA3_MODULE} holds {proof} for sm_90a"


def _kernels(code: DeviceCode) -> str:
    if code.error is not None:
        return code.error
    parts = [", ".join(code.sass) or "no machine code"]
    if code.ptx:
        parts.append(f"PTX {', '.join(code.ptx)}")
    if code.families:
        parts.append(f"kernels of {', '.join(code.families)}")
    return "; ".join(parts)
