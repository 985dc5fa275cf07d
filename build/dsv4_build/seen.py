"""The machine as a planned build will see it, so that a preflight judges that and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dsv4_doctor.facts.compiler import Compiler, HostCompilers
from dsv4_doctor.facts.toolkit import PathChain, Picks, Toolkits

if TYPE_CHECKING:
    from dsv4_build.choices import Choices
    from dsv4_build.environment import Environment
    from dsv4_doctor.snapshot import Snapshot


def as_planned(snapshot: Snapshot, choices: Choices, environment: Environment) -> Snapshot:
    """Return the facts with the plan's choices in place of what the machine would do by itself.

    What the machine's own settings would have picked does not matter to a build that sets them.
    """
    root = choices.toolchain.root
    chosen = {tool.name: tool for tool in choices.tools}
    others = tuple(tool for tool in snapshot.build_tools or () if tool.name not in chosen)
    return replace(
        snapshot,
        toolkits=Toolkits(
            cuda_home=PathChain(root, (), exists=True),
            found=(choices.toolchain.toolkit,),
            picks=Picks(root, root, root),
        ),
        compilers=_compilers(snapshot.compilers, choices),
        build_tools=(*choices.tools, *others),
        environment=environment.apply(snapshot.environment or {}),
    )


def _compilers(found: HostCompilers | None, choices: Choices) -> HostCompilers:
    kind, _, version = choices.compiler.name.partition(" ")
    used = Compiler(choices.compiler.cxx, kind, version)
    others = found.found if found is not None else ()
    return HostCompilers(others, used, "the build sets CUDAHOSTCXX and NVCC_CCBIN")
