"""What a build is asked for, and what it finds around itself."""

from __future__ import annotations

import os
import platform
import sysconfig
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from dsv4_build import view
from dsv4_build.cache import cache_root

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dsv4_build.caching.choice import CacheWish
    from dsv4_build.view import Kind, Wish

ToolchainWish: TypeAlias = Literal["auto", "system", "pypi"]


@dataclass(frozen=True)
class BuildRequest:
    """The command line of a build, as written.

    Attributes:
        archs: Architectures, such as ``sm_90``; comma-separated ones are allowed.
        vllm: A source tree of vLLM: sdist or directory; or the name of a release.
        recipe: An embedded source tree, such as ``smoke``.
        toolchain: Which CUDA toolkit to build with.
        python: Interpreter to build for, ``None`` when none was named.
        out: Directory that the result is put into.
        only: Kernels, components or features to which the build is narrowed.
        features: Features and architectures to prove; empty for the features that the tree has
            for these architectures.
        force: Ids of findings that must not stop the build.
        jobs: Compilers at a time, ``None`` to choose by processors and memory.
        git_mirror: Directory with ``OWNER/NAME.git`` to take external projects from.
        work_dir: Where to build, ``None`` for a place named by the inputs.
        canary: Compile one unit of each family before the others.
        report: Directory that gets the build's report besides, ``None`` for none.
        cache: Which compiler cache to use.
        cache_remote: Address of one that is shared; may hold a password.
        schedule: Let memory decide how many compilers run; ``False`` leaves it to ninja.
        paths: How to build under the same paths everywhere.
        clean: Begin anew, whatever an earlier build of the same inputs left.
        keep_work: Leave sources and objects in the work directory when all is done.
        offline: Whether nothing may be fetched; ``None`` to fetch what is missing.
        exclude_newer: Time after which no uploaded package counts, empty for no such limit,
            ``None`` for the time of the tree.
        isolated: What ``python`` is when it was made for this build; empty otherwise.
        resolution: The packages of that environment, as a requirements file with hashes.
        lock: Lock of the build: written when it is not there, else held against the plan.
        update_lock: Whether a lock that is there is written anew.
        leave_out: Repositories, as ``owner/name``, that no submodule is taken from.
        gpu_test: Whether to run what was built on this machine's GPU.
        wheel_dir: Directory for the wheel and what belongs to it, ``None`` for ``out``.
    """

    archs: tuple[str, ...]
    out: Path
    vllm: str | None = None
    recipe: str | None = None
    toolchain: ToolchainWish = "auto"
    python: str | None = None
    only: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    force: tuple[str, ...] = ()
    jobs: int | None = None
    git_mirror: Path | None = None
    work_dir: Path | None = None
    canary: bool = False
    report: Path | None = None
    cache: CacheWish = "auto"
    cache_remote: str | None = field(default=None, repr=False)
    schedule: bool = True
    paths: Wish = "auto"
    clean: bool = False
    keep_work: bool = False
    offline: bool | None = None
    leave_out: tuple[str, ...] = ()
    exclude_newer: str | None = None
    isolated: str = ""
    resolution: str = ""
    lock: Path | None = None
    update_lock: bool = False
    gpu_test: bool = False
    wheel_dir: Path | None = None


@dataclass(frozen=True)
class Surroundings:
    """What the planner takes from the doctor's own process rather than from the snapshot.

    Attributes:
        environ: The caller's environment.
        scripts: Directory of the programs installed beside the doctor, where its extra ``build``
            puts cmake and ninja.
        machine: As ``uname -m``.
        cache: Where toolkits and work directories are kept.
        paths: Tells how a build can get the paths that it is to have here.
        imposed: Variables that the programs of a build get whatever the plan says; for trying
            whether it depends on what they change.
    """

    environ: Mapping[str, str]
    scripts: Path
    machine: str
    cache: Path
    paths: Callable[[Wish], tuple[Kind, str]] = view.decide
    imposed: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def here(cls) -> Surroundings:
        """Return those of this process."""
        return cls(
            environ=dict(os.environ),
            scripts=Path(sysconfig.get_path("scripts")),
            machine=platform.machine(),
            cache=cache_root(),
        )
