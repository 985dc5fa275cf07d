"""What a build is done with: toolkit, compiler, interpreter, tools, jobs; each with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from dsv4_build import compilers, tools
from dsv4_build.schedule.window import window
from dsv4_build.toolchain import choose as toolchains
from dsv4_build.toolchain.system import Need
from dsv4_doctor.errors import BuildError
from dsv4_doctor.knowledge import load

if TYPE_CHECKING:
    from dsv4_build.compilers import HostCompiler
    from dsv4_build.recipe import Recipe
    from dsv4_build.request import BuildRequest, Surroundings
    from dsv4_build.scope import Scope
    from dsv4_build.toolchain.choose import Toolchain
    from dsv4_build.tree import Tree
    from dsv4_doctor.facts.build_tools import BuildTool
    from dsv4_doctor.snapshot import Snapshot

_GIB = 1 << 30


@dataclass(frozen=True)
class Jobs:
    """How many compilers run at a time.

    Attributes:
        count: At most.
        window: Units that ninja hands over at a time; more than ``count`` where memory decides
            which of them run.
    """

    count: int
    because: str
    window: int

    @property
    def scheduled(self) -> bool:
        """Whether memory decides which units run."""
        return self.window > self.count


@dataclass(frozen=True)
class Interpreter:
    """The Python that is built for."""

    executable: str
    version: str
    because: str


@dataclass(frozen=True)
class Choices:
    """All that a build uses of the machine."""

    toolchain: Toolchain
    compiler: HostCompiler
    python: Interpreter
    tools: tuple[BuildTool, ...]
    jobs: Jobs

    def tool(self, name: str) -> str:
        """Return the path of a tool that was chosen."""
        return next(tool.path for tool in self.tools if tool.name == name and tool.path)


def choose(
    request: BuildRequest, tree: Tree, scope: Scope, snapshot: Snapshot, around: Surroundings
) -> Choices:
    """Choose everything.

    Raises:
        BuildError: The machine lacks something; the message says what, and what to do.
        UsageError: There are no wheels of a toolkit for this machine.
    """
    need = toolkit_need(tree, scope, snapshot)
    toolchain = toolchains.choose(request.toolchain, snapshot.toolkits, need, around)
    return Choices(
        toolchain=toolchain,
        compiler=_compiler(tree, toolchain, snapshot),
        python=_interpreter(request, tree, snapshot),
        tools=_tools(request, tree, snapshot, around),
        jobs=_jobs(request, tree.recipe, snapshot),
    )


def toolkit_need(tree: Tree, scope: Scope, snapshot: Snapshot) -> Need:
    """Return what the build asks of a CUDA toolkit."""
    floor = load.project().cuda_minimum
    nvcc = tree.recipe.nvcc & SpecifierSet(f">={floor.value}")
    because = ["this project's floor"]
    for feature in scope.features:
        if feature.nvcc:
            nvcc &= feature.nvcc
            because.append(f"{feature.name}: {feature.nvcc}")
    return Need(
        group=tree.recipe.group,
        nvcc=nvcc,
        because=", ".join(because),
        archs=scope.archs,
        major=_torch_major(tree, snapshot),
    )


def _torch_major(tree: Tree, snapshot: Snapshot) -> int | None:
    """Return the CUDA major of the torch that modules are linked with."""
    if tree.release is None:
        return None
    torch = snapshot.python.torch if snapshot.python is not None else None
    if torch is not None and torch.cuda:
        return Version(torch.cuda).major
    wheel = tree.release.torch_cuda
    return Version(wheel.value).major if wheel is not None else None


def _compiler(tree: Tree, toolchain: Toolchain, snapshot: Snapshot) -> HostCompiler:
    if snapshot.compilers is None:
        run = snapshot.probe("compilers")
        reason = run.error if run is not None and run.error else "they were not looked for"
        msg = f"the host compilers could not be told: {reason}"
        raise BuildError(msg)
    floors = tree.release.gcc if tree.release is not None else ()
    bounds = compilers.Bounds(
        limits=toolchain.toolkit.host_compiler,
        toolkit=f"CUDA {toolchain.toolkit.release}",
        gcc_min=max((floor.minimum for floor in floors), default=None),
        release=tree.name,
    )
    return compilers.choose(snapshot.compilers, bounds)


def _interpreter(request: BuildRequest, tree: Tree, snapshot: Snapshot) -> Interpreter:
    python = snapshot.python
    if python is None:
        run = snapshot.probe("python")
        reason = run.error if run is not None and run.error else "it was not looked for"
        msg = f"the Python to build for could not be told: {reason}"
        raise BuildError(msg, hint="--python PATH names its interpreter")
    because = f"it was chosen by {python.chosen_by}"
    if request.isolated:
        because = request.isolated
    elif request.python is None and tree.release is not None:
        because = "the environment of the build is made with it"
    elif request.python is None:
        because = "the doctor itself runs in it, and an embedded tree needs no torch"
    return Interpreter(python.executable, python.version, because)


def _tools(
    request: BuildRequest, tree: Tree, snapshot: Snapshot, around: Surroundings
) -> tuple[BuildTool, ...]:
    known = snapshot.build_tools or ()
    minimum = tree.release.cmake.value if tree.release is not None else tree.recipe.cmake
    wanted = [tools.Wanted("cmake", minimum), tools.Wanted("ninja")]
    if tree.projects:
        wanted.append(tools.Wanted("git"))
    # An environment that was made for the build brings the versions that were resolved.
    own = Path(request.python).parent if request.isolated and request.python else None
    return tuple(
        tools.find(each, (), [own])
        if own is not None and (own / each.name).is_file()
        else tools.find(each, known, [around.scripts])
        for each in wanted
    )


def _jobs(request: BuildRequest, recipe: Recipe, snapshot: Snapshot) -> Jobs:
    if not request.schedule:
        return _fixed_jobs(request, recipe, snapshot)
    host = snapshot.host
    cpus = host.cpus if host is not None else 1
    memory = host.memory_available if host is not None else None
    count = request.jobs or cpus
    limit = "--jobs" if request.jobs else f"{cpus} processors"
    because = f"{limit}; memory decides which units run at a time"
    return Jobs(count, because, window(count, memory))


def _fixed_jobs(request: BuildRequest, recipe: Recipe, snapshot: Snapshot) -> Jobs:
    if request.jobs is not None:
        return Jobs(request.jobs, "--jobs", request.jobs)
    host = snapshot.host
    if host is None:
        return Jobs(1, "neither processors nor memory could be told", 1)
    memory = host.memory_available if host.memory_available is not None else host.memory
    each = f"{recipe.job_memory / _GIB:g} GiB a job"
    if memory is None:
        because = f"{host.cpus} processors; the memory could not be told"
        return Jobs(host.cpus, because, host.cpus)
    fitting = max(memory // recipe.job_memory, 1)
    because = f"{host.cpus} processors, {memory / _GIB:.1f} GiB of memory at {each}"
    count = min(host.cpus, fitting)
    return Jobs(count, because, count)
