"""The decision between a toolkit of the machine and one from PyPI, with its reason."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from dsv4_build.toolchain import pypi, system
from dsv4_build.toolchain.pins import Selection, cuda_13_0
from dsv4_doctor.errors import BuildError
from dsv4_doctor.facts.toolkit import Toolkit

if TYPE_CHECKING:
    from dsv4_build.request import Surroundings, ToolchainWish
    from dsv4_build.toolchain.system import Need
    from dsv4_doctor.facts.toolkit import Toolkits


@dataclass(frozen=True)
class Toolchain:
    """The toolkit that a build uses.

    Attributes:
        root: Where it is, or will be.
        toolkit: What is known of it: read on the machine, or from the pins.
        key: What identifies it among the inputs of a build.
        selection: The parts to fetch; ``None`` for a toolkit of the machine.
        because: What decided for it.
    """

    kind: Literal["system", "pypi"]
    root: str
    toolkit: Toolkit
    key: str
    because: str
    selection: Selection | None = None


def choose(
    wish: ToolchainWish, toolkits: Toolkits | None, need: Need, around: Surroundings
) -> Toolchain:
    """Choose the toolkit.

    Raises:
        BuildError: What was wished for does not do; the message says why.
        UsageError: There are no wheels for this machine.
    """
    verdict = system.Verdict(None, ("the toolkits of this machine could not be told",))
    if toolkits is not None:
        verdict = system.choose(toolkits, need)
    if verdict.chosen is not None and wish != "pypi":
        return _system(verdict.chosen, need)
    if wish == "system":
        msg = f"no CUDA toolkit of this machine has {need}"
        msg += "".join(f"\n  {line}" for line in verdict.refused)
        raise BuildError(msg, hint="--toolchain pypi assembles one, without root")
    why = "it was asked for"
    if wish == "auto":
        nothing = ("there is none",)
        why = f"no toolkit of this machine has {need}: {'; '.join(verdict.refused or nothing)}"
    return _pypi(need, around, why)


def _system(toolkit: Toolkit, need: Need) -> Toolchain:
    return Toolchain(
        kind="system",
        root=toolkit.root,
        toolkit=toolkit,
        key=f"system {toolkit.root} nvcc {toolkit.nvcc_version}",
        because=f"found through {', '.join(toolkit.origins)}; it has {need}",
    )


def _pypi(need: Need, around: Surroundings, why: str) -> Toolchain:
    selection = Selection(cuda_13_0(), need.group, around.machine)
    root = str(pypi.place(selection, around.cache))
    toolkit = planned_toolkit(selection, root)
    refusal = need.refusal(toolkit)
    if refusal is not None:
        msg = f"the CUDA {selection.pins.release} toolkit from PyPI does not do: {refusal}"
        raise BuildError(msg, hint="--toolchain system, with a toolkit that has what is needed")
    return Toolchain(
        kind="pypi",
        root=root,
        toolkit=toolkit,
        key=f"pypi {selection.tree_name}",
        because=why,
        selection=selection,
    )


def planned_toolkit(selection: Selection, root: str) -> Toolkit:
    """Return what the pins say of a toolkit, before it is there to be read."""
    pins = selection.pins
    header = pins.host_compiler.path.removeprefix(f"{pins.root}/")
    return Toolkit(
        root=root,
        origins=("pypi",),
        nvcc=f"{root}/bin/nvcc",
        nvcc_version=pins.nvcc,
        nvcc_error=None,
        header_version=pins.cuda,
        manifest_version=pins.release,
        host_compiler=replace(pins.host_compiler, path=f"{root}/{header}"),
        archs=tuple(arch.sm for arch in pins.archs),
    )
