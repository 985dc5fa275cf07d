"""Choosing among the toolkits of the machine, from the facts of a snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from dsv4_doctor.arch import Arch
from dsv4_doctor.knowledge.model import accepts

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

    from dsv4_build.toolchain.pins import Group
    from dsv4_doctor.facts.toolkit import Toolkit, Toolkits

# Without these nothing compiles; everything else that a snapshot reports as missing is needed by
# the group "full" alone.
_COMPILE_NEEDS = frozenset(
    {"bin/nvcc", "nvvm/bin/cicc", "include/cuda_runtime.h", "include/crt/host_config.h"}
)


@dataclass(frozen=True)
class Need:
    """What a build asks of a toolkit.

    Attributes:
        group: Which of its parts.
        nvcc: Versions of nvcc that do.
        because: What asks for them, for messages.
        archs: Architectures to compile for.
        major: CUDA major version of the torch that is linked, ``None`` when none is.
    """

    group: Group
    nvcc: SpecifierSet
    because: str
    archs: tuple[Arch, ...]
    major: int | None = None

    def refusal(self, toolkit: Toolkit) -> str | None:
        """Return why this toolkit does not do, ``None`` when it does."""
        version = toolkit.nvcc_version
        if version is None:
            return toolkit.nvcc_error or "it has no nvcc"
        if not accepts(self.nvcc, version):
            return f"nvcc {version} is not {self.nvcc} ({self.because})"
        if self.major is not None and _version(version).major != self.major:
            return f"nvcc {version} is not CUDA {self.major}, which torch was built with"
        missing = [
            name for name in toolkit.missing if self.group == "full" or name in _COMPILE_NEEDS
        ]
        if missing:
            return f"it lacks {', '.join(missing)}"
        known = {Arch.parse(arch).base for arch in toolkit.archs}
        lacking = [arch.sm for arch in self.archs if known and arch.base not in known]
        return f"it cannot compile for {', '.join(lacking)}" if lacking else None

    def __str__(self) -> str:
        archs = ", ".join(arch.sm for arch in self.archs)
        major = f", CUDA {self.major} as torch" if self.major is not None else ""
        return f"nvcc {self.nvcc or 'of any version'} ({self.because}){major}, {archs}"


@dataclass(frozen=True)
class Verdict:
    """Which toolkit of the machine does, and why the others do not.

    Attributes:
        refused: One line for each toolkit that does not do.
    """

    chosen: Toolkit | None
    refused: tuple[str, ...]


def choose(toolkits: Toolkits, need: Need) -> Verdict:
    """Choose the toolkit: that of ``CUDA_HOME`` first, then that of ``PATH``, then the newest."""
    refused: list[str] = []
    for toolkit in _ordered(toolkits):
        why_not = need.refusal(toolkit)
        if why_not is None:
            return Verdict(toolkit, tuple(refused))
        refused.append(f"{toolkit.root}: {why_not}")
    return Verdict(None, tuple(refused))


def _ordered(toolkits: Toolkits) -> list[Toolkit]:
    home = toolkits.cuda_home.real if toolkits.cuda_home is not None else None
    newest_first = sorted(
        toolkits.found, key=lambda each: _version(each.nvcc_version or "0"), reverse=True
    )
    preferred = (home, toolkits.picks.path)
    return sorted(
        newest_first,
        key=lambda each: preferred.index(each.root) if each.root in preferred else len(preferred),
    )


def _version(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:
        return Version("0")
