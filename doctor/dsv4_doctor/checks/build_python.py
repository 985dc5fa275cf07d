"""What a build asks of its Python environment: requirements, Rust, the second torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks import remedies, requirement, selection
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.knowledge import stack
from dsv4_doctor.knowledge.model import accepts
from dsv4_doctor.report import Command, Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.report import Status

_TRUE = frozenset({"1", "true", "yes", "on"})


@check(
    "build.python.requirements",
    "Python packages of the build",
    reads=("python",),
    reports=("whyNLP/LCKV#17",),
    fix="Install the build requirements before building with --no-build-isolation.",
)
def requirements(context: Context) -> Iterator[Finding]:
    """Whether the environment has what a build without isolation asks for.

    With ``--no-build-isolation``, which keeps the installed torch, nobody installs setuptools,
    setuptools-scm and the others. The bounds of setuptools matter: vLLM does not build with newer
    ones. A build with isolation brings its own.
    """
    known = stack.build_requirements(context.release.name)
    if not context.target.builds or known is None:
        return
    python = context.need("python", context.snapshot.python)
    bad = []
    for text in known.names:
        asked = requirement.parse(text)
        if asked is None:
            continue
        dist = python.distribution(asked.name)
        if dist is None or not accepts(asked.specifier, dist.version):
            if dist is None:
                context.need_whole("python.distributions")
            bad.append((text, f"{asked.name} {dist.version if dist is not None else 'missing'}"))
    if python.torch is None:
        bad.append((f"torch=={context.release.torch.value}", "torch missing"))
    found = ", ".join(have for _, have in bad)
    # Who only serves has no need of them; nobody who asks for both has said that he builds here.
    status: Status = "warn" if context.target.purpose == "build" else "skip"
    yield Finding(
        "build.python.requirements",
        status if bad else "pass",
        f"a build without isolation lacks: {found}" if bad else "build requirements are there",
        found=found or "all there",
        expected=", ".join(known.names),
        evidence=(Evidence(found or "all there", python.prefix),),
        source=(known.place.source("build-system.requires"),),
        remedy=Remedy(
            "install them for --no-build-isolation; a build with isolation brings its own, and"
            " another torch with them",
            (remedies.pip_install(python.executable, *(text for text, _ in bad)),),
        )
        if bad
        else None,
    )


@check(
    "build.tools.rust",
    "Rust",
    reads=("build_tools", "environment"),
    fix="Install Rust with rustup, or leave the frontend out.",
)
def rust(context: Context) -> Iterator[Finding]:
    """Whether cargo is there for a release that has parts in Rust.

    Without it a build leaves ``vllm-rs`` out and goes on, unless VLLM_REQUIRE_RUST_FRONTEND is
    set.
    """
    known = stack.build_requirements(context.release.name)
    if (
        not context.target.builds
        or known is None
        or not any("rust" in each for each in known.names)
    ):
        return
    tools = context.need("build_tools", context.snapshot.build_tools)
    cargo = next((each for each in tools if each.name == "cargo"), None)
    if cargo is None:
        return
    environment = context.snapshot.environment or {}
    required = environment.get("VLLM_REQUIRE_RUST_FRONTEND", "").lower() in _TRUE
    missing: Status = "warn" if context.target.purpose == "build" else "skip"
    status: Status = "pass" if cargo.path else ("fail" if required else missing)
    yield Finding(
        "build.tools.rust",
        status,
        f"cargo is {cargo.path}"
        if cargo.path
        else "cargo not found: the build "
        + (
            "stops, because VLLM_REQUIRE_RUST_FRONTEND is set" if required else "leaves vllm-rs out"
        ),
        found=cargo.path or "none",
        expected="cargo",
        evidence=(Evidence(cargo.path or "none", "PATH and CARGO_HOME"),),
        source=(known.place.source("setuptools-rust among the build requirements"),),
        remedy=None
        if cargo.path
        else Remedy(
            "install Rust with rustup: the release's rust-toolchain.toml says which, and rustup"
            " fetches it",
            remedies.install_package(context.snapshot.host, debian="rustup", redhat="rustup"),
        ),
    )


@check(
    "torch.build.isolation",
    "the torch of an isolated build",
    reads=("python", "toolkits"),
    reports=("vllm-project/vllm#1060", "vllm-project/vllm#1453"),
    fix="Build with --no-build-isolation and the installed torch.",
)
def isolation(context: Context) -> Iterator[Finding]:
    """Whether the torch that an isolated build downloads fits the toolkit, and the installed one.

    pip and uv put the torch that the release pins into a temporary ``pip-build-env``. It is for
    the CUDA of its default wheel, whatever torch is installed: "The detected CUDA version (12.2)
    mismatches the version that was used to compile PyTorch (11.7)".
    """
    pin, cuda = context.release.torch, context.release.torch_cuda
    if not context.target.builds or cuda is None:
        return
    toolkit = selection.toolkit(context)
    python = context.snapshot.python
    torch = python.torch if python is not None else None
    if toolkit is None or toolkit.release is None:
        return
    wanted = selection.version(cuda.value).major
    fits = selection.version(toolkit.release).major == wanted
    mine = (
        torch is not None
        and torch.cuda is not None
        and selection.version(torch.cuda).major == selection.version(toolkit.release).major
    )
    yield Finding(
        "torch.build.isolation",
        "pass" if fits else "warn",
        f"an isolated build takes torch {pin.value} for CUDA {cuda.value},"
        f" the toolkit is CUDA {toolkit.release}",
        found=f"CUDA {toolkit.release} in {toolkit.root}",
        expected=f"CUDA {wanted}.x, or a build without isolation",
        evidence=(Evidence(f"CUDA {toolkit.release}", toolkit.root),),
        source=(cuda.source(f"the default wheel of torch {pin.value} is CUDA {cuda.value}"),),
        remedy=None if fits else _without_isolation(context, toolkit.release, mine=mine),
    )


def _without_isolation(context: Context, release: str, *, mine: bool) -> Remedy:
    python = context.snapshot.python
    executable = python.executable if python is not None else "python3"
    if not mine:
        return Remedy(
            f"install a torch for CUDA {release} first and build with --no-build-isolation, or"
            f" take a toolkit of CUDA {context.release.main_cuda.value}",
            remedies.install_toolkit(context.release.main_cuda.value).commands,
        )
    return Remedy(
        "build with the torch that is installed here",
        (Command(argv=(executable, "-m", "pip", "install", "--no-build-isolation", "-v", ".")),),
    )
