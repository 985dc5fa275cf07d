"""The options of ``dsv4-doctor build``."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from dsv4_doctor.cli.image import Jit


class Paths(str, Enum):
    """How a build gets paths that are the same everywhere."""

    AUTO = "auto"
    NAMESPACE = "namespace"
    FIXED = "fixed"
    OWN = "own"


class Toolchain(str, Enum):
    """Where the CUDA toolkit comes from."""

    AUTO = "auto"
    SYSTEM = "system"
    PYPI = "pypi"


class CompilerCache(str, Enum):
    """Which compiler cache stands before the compilers."""

    AUTO = "auto"
    CCACHE = "ccache"
    SCCACHE = "sccache"
    OFF = "off"


Vllm = Annotated[
    str | None,
    typer.Option(
        "--vllm",
        metavar="RELEASE|PATH",
        help="vLLM: a release, an sdist, a checkout; default: as of check.",
    ),
]
Recipe = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="An embedded tree instead of vLLM: smoke."),
]
Plan = Annotated[bool, typer.Option("--plan", help="Show the plan and do nothing.")]
ToolchainOption = Annotated[
    Toolchain,
    typer.Option(help="CUDA toolkit: of the machine, from PyPI, or the first that does."),
]
Out = Annotated[Path, typer.Option(metavar="DIR", help="Where the result goes.")]
Only = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Build only this kernel, component or feature; repeatable.",
    ),
]
Require = Annotated[
    list[str] | None,
    typer.Option(metavar="FEATURES", help="Features to prove; default: those for the archs."),
]
Python = Annotated[
    str | None,
    typer.Option(metavar="PATH", help="Interpreter to build for."),
]
Force = Annotated[
    list[str] | None,
    typer.Option(metavar="ID", help="Build although this check fails; repeatable."),
]
Jobs = Annotated[int | None, typer.Option(min=1, metavar="N", help="Compilers at a time.")]
GitMirror = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Take git repositories from DIR/OWNER/NAME.git."),
]
WorkDir = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Build here; default: a place named by the inputs."),
]
Canary = Annotated[
    bool,
    typer.Option("--canary", help="Compile one unit of each family before the others."),
]
Report = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Put build-report.json and its page there, also of a failed build."
    ),
]
Cache = Annotated[
    CompilerCache,
    typer.Option(help="Compiler cache; auto takes ccache where it is installed."),
]
CacheRemote = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        envvar="DSV4_CACHE_REMOTE",
        show_envvar=True,
        help="Cache shared with others: redis://… or s3://…; a password is safer in the "
        "variable than on the command line.",
    ),
]
Schedule = Annotated[
    bool,
    typer.Option(
        "--schedule/--no-schedule",
        help="Start compilers as memory allows; without, a fixed number runs.",
    ),
]
PathsOption = Annotated[
    Paths,
    typer.Option(help="Same paths everywhere: by a namespace, at a fixed place, or not."),
]
Clean = Annotated[
    bool,
    typer.Option("--clean", help="Begin anew; do not go on with an earlier build's work."),
]
KeepWork = Annotated[
    bool,
    typer.Option("--keep-work", help="Leave sources and objects in the work directory."),
]
VerifyReproducible = Annotated[
    bool,
    typer.Option(
        "--verify-reproducible",
        help="Build twice under different circumstances and compare the bytes.",
    ),
]
Prune = Annotated[
    bool,
    typer.Option("--prune", help="Only remove the work of earlier builds, and say its size."),
]
Offline = Annotated[
    bool | None,
    typer.Option(
        "--offline/--online",
        help="Fetch nothing; or: compilers keep the network. "
        "Default: what is missing is fetched, then the network is cut off.",
    ),
]
Lock = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Lock of the build: written, or held against it."),
]
UpdateLock = Annotated[bool, typer.Option("--update-lock", help="Write the lock anew.")]
ExcludeNewer = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Build requirements as of this time; default: the tree's own; '' for no limit.",
    ),
]
WheelDir = Annotated[
    Path | None,
    typer.Option(
        "--wheel-dir",
        "-w",
        metavar="DIR",
        help="Where the wheel goes, as for pip wheel; default: --out.",
    ),
]
GpuTest = Annotated[
    bool,
    typer.Option("--gpu-test", help="Run the kernels that were built on this machine's GPU."),
]
Image = Annotated[
    str | None,
    typer.Option(metavar="WHERE", help="Make an image of the wheel, too; see `image --help`."),
]
ImageBase = Annotated[str | None, typer.Option(metavar="IMAGE", help="What the image lies on.")]
ImageJit = Annotated[Jit, typer.Option(help="Where the image's run-time compilers come from.")]
