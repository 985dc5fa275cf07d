"""Whether torch fits the GPU, and the installed vLLM fits torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.arch import Arch
from dsv4_doctor.checks import remedies, requirement, selection
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.knowledge.model import accepts
from dsv4_doctor.report import Command, Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.checks.requirement import Asked
    from dsv4_doctor.facts.python import Distribution, PythonEnvironment
    from dsv4_doctor.report import Status


@check(
    "torch.arch.gpu",
    "architectures of torch",
    reads=("gpus", "python"),
    reports=("vllm-project/vllm#16901", "vllm-project/vllm#21633"),
    fix="Install a torch whose wheel was built for this GPU.",
)
def archs(context: Context) -> Iterator[Finding]:
    """Whether torch's own kernels were compiled for the GPUs that are wanted.

    The list is what ``torch.cuda.get_arch_list()`` would say, read in torch's library. Without
    code for the GPU the first operation ends with "no kernel image is available for execution on
    the device", however vLLM was built.
    """
    torch = context.need("python", context.snapshot.python).torch
    wanted = selection.wanted_archs(context)
    if torch is None or not torch.archs or not wanted:
        return
    # Imported here: it is needed only where torch and a GPU are.
    from dsv4_doctor.binary.compatibility import runs_on  # noqa: PLC0415

    sass = [Arch.parse(each) for each in torch.archs if each.startswith("sm_")]
    ptx = [Arch.parse(each) for each in torch.archs if each.startswith("compute_")]
    bad = [arch for arch in wanted if not runs_on(arch.base, sass, ptx).runs]
    listed = ", ".join(torch.archs)
    names = ", ".join(arch.sm for arch in bad or wanted)
    status: Status = "fail" if context.target.serves else "warn"
    yield Finding(
        "torch.arch.gpu",
        status if bad else "pass",
        f"torch {torch.version} has {'no ' if bad else ''}code for {names}",
        found=listed,
        expected=", ".join(arch.sm for arch in wanted),
        evidence=(Evidence(listed, f"{torch.path.rpartition('/')[0]}/lib/libtorch_python.so"),),
        remedy=_other_torch(context) if bad else None,
    )


def _other_torch(context: Context) -> Remedy:
    python = context.need("python", context.snapshot.python)
    pin = context.release.torch.value
    version = python.torch.version if python.torch is not None else ""
    if selection.version(version).public == selection.version(pin).public:
        return Remedy(
            f"take another build of torch {pin}, for a newer CUDA or, on a Jetson, NVIDIA's own; a"
            " newer release of vLLM with its torch; or build torch for this GPU"
        )
    return Remedy(
        f"install torch {pin}, which vLLM {context.release.name} pins, in a build for this GPU",
        (remedies.pip_install(python.executable, f"torch=={pin}"),),
    )


@check(
    "torch.install.single",
    "one torch",
    reads=("python",),
    reports=("vllm-project/vllm#12577",),
    fix="Remove all copies of torch and install one.",
)
def single(context: Context) -> Iterator[Finding]:
    """Whether there is one torch only, and its metadata agrees with its files.

    A second copy on ``sys.path``, or the metadata of one release beside the files of another, is
    what an interrupted update leaves: pip then resolves against one torch, and another is imported.
    """
    python = context.need("python", context.snapshot.python)
    torch = python.torch
    if torch is None:
        return
    dists = python.distributions_of("torch")
    public = selection.version(torch.version).public
    differing = [each for each in dists if selection.version(each.version).public != public]
    others = python.other_torches
    evidence = (
        Evidence(torch.version, torch.path),
        *(Evidence(each.version, each.path) for each in others),
        *(Evidence(f"metadata of {each.version}", each.location) for each in dists),
    )
    good = not others and not differing and len(dists) <= 1
    title = f"torch {torch.version} is the only one"
    if others:
        title = f"{len(others) + 1} copies of torch: {torch.path} is the one that is imported"
    elif not good:
        versions = ", ".join(each.version for each in dists)
        title = f"the files of torch are {torch.version}, its metadata says {versions}"
    yield Finding(
        "torch.install.single",
        "pass" if good else "warn",
        title,
        found=", ".join(
            [
                torch.version,
                *(each.version for each in others),
                *(each.version for each in differing),
            ]
        ),
        expected="one torch",
        evidence=evidence,
        remedy=None if good else _reinstall(python, torch.version),
    )


def _reinstall(python: PythonEnvironment, version: str) -> Remedy:
    public = selection.version(version).public
    return Remedy(
        "remove torch until pip finds none, then install one; a copy outside of this environment"
        " (PYTHONPATH, a .pth file) is to be taken out by hand",
        (
            Command(argv=(python.executable, "-m", "pip", "uninstall", "-y", "torch")),
            remedies.pip_install(python.executable, f"torch=={public}"),
        ),
    )


@check(
    "python.packages.torch",
    "the torch of installed packages",
    reads=("python",),
    reports=(
        "vllm-project/vllm#36302",
        "vllm-project/vllm#35861",
        "vllm-project/vllm#12577",
    ),
    fix="Install the torch that this vLLM was built against, or build vLLM against this torch.",
)
def required(context: Context) -> Iterator[Finding]:
    """Whether torch is the one that the installed packages say they were built against.

    Looked at are vLLM, flash-attn, xformers, torchvision and torchaudio. Their extension modules
    are linked against one torch. With another one they fail at import,
    with an undefined symbol such as ``_ZN3c104cuda29c10_cuda_check_implementation…``.
    """
    python = context.need("python", context.snapshot.python)
    if python.torch is None:
        return
    for name in ("vllm", "flash-attn", "xformers", "torchvision", "torchaudio"):
        dist = python.distribution(name)
        asked = requirement.on(dist, "torch") if dist is not None else None
        if dist is not None and asked is not None and asked.specifier:
            yield _required(context, python, dist, asked)


def _required(
    context: Context, python: PythonEnvironment, dist: Distribution, asked: Asked
) -> Finding:
    torch = python.torch
    version = torch.version if torch is not None else ""
    good = accepts(asked.specifier, version)
    status: Status = "fail" if context.target.serves and dist.name == "vllm" else "warn"
    return Finding(
        "python.packages.torch",
        "pass" if good else status,
        f"{dist.name} {dist.version} asks for torch{asked.specifier}, installed is {version}",
        found=version,
        expected=f"torch{asked.specifier}",
        evidence=(
            Evidence(
                f"Requires-Dist: {asked.text}", f"{dist.name} {dist.version} in {dist.location}"
            ),
            Evidence(version, torch.path if torch is not None else python.prefix),
        ),
        remedy=None
        if good
        else Remedy(
            f"install the torch that {dist.name} was built against, or build it against this one",
            (remedies.pip_install(python.executable, f"torch{asked.specifier}"),),
        ),
    )
