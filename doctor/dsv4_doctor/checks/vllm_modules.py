"""The extension modules of an installed vLLM: there, imported from where, and for the features."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from dsv4_doctor.arch import Arch
from dsv4_doctor.checks import selection
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.report import Command, Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.facts.python import DeviceCode, PythonEnvironment
    from dsv4_doctor.knowledge.model import Feature
    from dsv4_doctor.report import Status

_FLASH_ATTN = "flash-attn"


@check(
    "vllm.install.modules",
    "compiled modules of packages",
    reads=("python",),
    fix="Install the wheel for this Python, or build again.",
)
def compiled(context: Context) -> Iterator[Finding]:
    """Whether the installed vLLM and flash-attn have compiled modules that this Python loads.

    An installation of vLLM's Python files alone, or modules for another version of Python, ends
    with "No module named 'vllm._C'" or "No module named 'flash_attn_2_cuda'".
    """
    python = context.need("python", context.snapshot.python)
    for name in ("vllm", _FLASH_ATTN):
        dist = python.distribution(name)
        # FlashAttention 4 is a package of Python files.
        if dist is None or (name == _FLASH_ATTN and dist.version.startswith("4")):
            continue
        modules = [each for each in python.binaries if each.owner == name]
        serves = context.target.serves and name == "vllm"
        yield Finding(
            "vllm.install.modules",
            "pass" if modules else ("fail" if serves else "warn"),
            f"{name} {dist.version} has {len(modules)} compiled modules"
            if modules
            else f"{name} {dist.version} has no compiled module that Python {python.version} loads",
            found=", ".join(each.path.rpartition("/")[2] for each in modules) or "none",
            expected="compiled modules for this Python",
            evidence=(Evidence(f"{len(modules)} modules", dist.location),),
            remedy=None
            if modules
            else Remedy(
                f"install the wheel of {name} for this Python again, or build it: Python files"
                " alone do not run",
                (
                    Command(
                        argv=(python.executable, "-m", "pip", "install", "--force-reinstall",
                              "--no-deps", f"{name}=={dist.version.partition('+')[0]}"),
                    ),
                ),
            ),
        )  # fmt: skip


@check(
    "vllm.install.shadow",
    "vLLM of the current directory",
    reads=("build_tree", "python"),
    fix="Start Python in another directory.",
)
def shadow(context: Context) -> Iterator[Finding]:
    """Whether Python started here would import a source tree instead of the installed vLLM.

    ``python -m`` and a console put the current directory first. In a checkout without compiled
    modules that ends with "No module named 'vllm._C'", although vLLM is installed.
    """
    tree = context.snapshot.build_tree
    python = context.snapshot.python
    dist = python.distribution("vllm") if python is not None else None
    if tree is None or dist is None or not tree.vllm or not tree.current or tree.compiled:
        return
    yield Finding(
        "vllm.install.shadow",
        "warn",
        f"Python started in {tree.path} imports vLLM from there, where nothing is compiled",
        found=tree.path,
        expected=f"vllm {dist.version} in {dist.location}",
        evidence=(Evidence("vllm/__init__.py without modules", tree.path),),
        remedy=Remedy(
            "start it in another directory, or install this tree (pip install -e .)",
        ),
    )


@check(
    "vllm.install.components",
    "extension modules of the features",
    reads=("gpus", "python"),
    reports=("yhfgyyf/vllm-deepseek-v4-sm89#90", "vllm-project/vllm#39233"),
    fix="Install the release's wheel, or build with the nvcc and architectures that they need.",
)
def components(context: Context) -> Iterator[Finding]:
    """Whether the installed vLLM has the modules of the wanted features, with code for the GPU.

    A build leaves FlashMLA and DeepGEMM out without an error when nvcc or the architectures do
    not qualify; DeepSeek-V4 then fails in a running server: "_flashmla_C is not available".
    """
    python = context.need("python", context.snapshot.python)
    dist = python.distribution("vllm")
    if dist is None or selection.version(dist.version).public != context.release.name:
        return
    for feature in selection.needed_features(context):
        if feature.file and feature.optional:
            yield _component(context, python, feature)


def _component(context: Context, python: PythonEnvironment, feature: Feature) -> Finding:
    code = next(
        (each for each in python.binaries if fnmatchcase(each.path, f"*/{feature.file}")), None
    )
    missing = _without_code(context, code) if code is not None else ()
    status: Status = "pass"
    title = f"the installed vLLM has {feature.component}"
    if code is None:
        title = f"the installed vLLM lacks {feature.component}: {feature.name} is not in it"
    elif missing:
        names = ", ".join(arch.sm for arch in missing)
        title = f"{feature.component} of the installed vLLM has no code for {names}"
    if code is None or missing:
        status = "fail" if context.target.serves else "warn"
    found = ", ".join((*code.sass, *code.ptx)) or code.path if code is not None else "none"
    return Finding(
        "vllm.install.components",
        status,
        title,
        found=found,
        expected=feature.file,
        evidence=(Evidence(found, code.path if code is not None else feature.file),),
        source=tuple(place.source(feature.component) for place in feature.places[:1]),
        remedy=None
        if status == "pass"
        else Remedy(
            f"install the release's own wheel, or build with nvcc {feature.nvcc} for an"
            f" architecture of {feature.name}"
        ),
    )


def _without_code(context: Context, code: DeviceCode) -> tuple[Arch, ...]:
    """Return the wanted GPUs on which none of a module's device code runs.

    A module without any, such as DeepGEMM's, compiles its kernels in the running server.
    """
    if code.error is not None or not (code.sass or code.ptx):
        return ()
    # Imported here: it is needed only where vLLM is installed.
    from dsv4_doctor.binary.compatibility import runs_on  # noqa: PLC0415

    sass, ptx = map(Arch.parse, code.sass), map(Arch.parse, code.ptx)
    have = tuple(sass), tuple(ptx)
    wanted = selection.wanted_archs(context)
    return tuple(arch for arch in wanted if not runs_on(arch.base, *have).runs)
