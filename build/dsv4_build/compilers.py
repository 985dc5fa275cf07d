"""Which host compiler nvcc is given: one that the toolkit and the release both accept."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from dsv4_doctor.errors import BuildError

if TYPE_CHECKING:
    from dsv4_doctor.facts.compiler import Compiler, HostCompilers
    from dsv4_doctor.facts.toolkit import HostCompilerLimits

_C_OF = {"g++": "gcc", "clang++": "clang"}


@dataclass(frozen=True)
class HostCompiler:
    """A pair of compilers of one installation.

    Attributes:
        cc: Path of the C compiler.
        cxx: Path of the C++ compiler, which nvcc calls.
        name: Such as ``g++ 12.2.0``.
        because: What decided for it.
    """

    cc: str
    cxx: str
    name: str
    because: str


@dataclass(frozen=True)
class Bounds:
    """What a host compiler has to satisfy.

    Attributes:
        limits: What the header of the toolkit accepts, ``None`` when it was not read.
        toolkit: Name of that toolkit, for messages.
        gcc_min: Oldest gcc that the release accepts, ``None`` for any.
        release: Name of the release, for messages.
    """

    limits: HostCompilerLimits | None
    toolkit: str
    gcc_min: Version | None = None
    release: str = ""

    def refusal(self, compiler: Compiler) -> str | None:
        """Return why this compiler does not do, ``None`` when it does."""
        try:
            version = Version(compiler.version)
        except InvalidVersion:
            return f"its version {compiler.version!r} cannot be read"
        if compiler.kind == "clang++":
            below = self.limits.clang_below if self.limits else None
            if below is not None and version.major >= below:
                return f"{self.toolkit} takes clang below {below}"
            return None
        newest = self.limits.gcc_max if self.limits else None
        if newest is not None and version.major > newest:
            return f"{self.toolkit} takes gcc up to {newest}"
        if self.gcc_min is not None and version < self.gcc_min:
            return f"{self.release} asks for gcc >= {self.gcc_min}"
        return None

    def __str__(self) -> str:
        newest = self.limits.gcc_max if self.limits else None
        parts = [f">= {self.gcc_min} ({self.release})"] if self.gcc_min else []
        parts += [f"<= {newest} ({self.toolkit})"] if newest else []
        return f"gcc {' and '.join(parts)}" if parts else "any gcc"


def choose(compilers: HostCompilers, bounds: Bounds) -> HostCompiler:
    """Choose the compiler that nvcc would take anyway if it fits, else the newest that does.

    Raises:
        BuildError: None fits; the message says for each one found why not.
    """
    refused: list[str] = []
    for compiler in _candidates(compilers):
        c_compiler = _partner(compilers, compiler)
        why_not = bounds.refusal(compiler)
        if why_not is None and c_compiler is None:
            why_not = f"no {_C_OF[compiler.kind]} of the same version beside it"
        if why_not is not None or c_compiler is None:
            refused.append(f"{compiler.path} ({compiler.version}): {why_not}")
            continue
        return HostCompiler(
            cc=c_compiler,
            cxx=compiler.path,
            name=f"{compiler.kind} {compiler.version}",
            because=_because(compilers, compiler, bounds),
        )
    msg = f"no host compiler fits: {bounds} is needed"
    if refused:
        msg += "\n" + "\n".join(f"  {each}" for each in refused)
    raise BuildError(msg, hint=_way_out(bounds))


def _candidates(compilers: HostCompilers) -> list[Compiler]:
    kinds = list(_C_OF)
    found = [each for each in compilers.found if each.kind in _C_OF]
    found.sort(key=lambda each: (-kinds.index(each.kind), _sortable(each)), reverse=True)
    used = _used(compilers)
    if used is not None:
        found.insert(0, used)
    return list(dict.fromkeys(found))


def _used(compilers: HostCompilers) -> Compiler | None:
    """Return the C++ compiler that nvcc would take; nvcc itself starts ``gcc`` and says so."""
    used = compilers.used
    if used is None or used.kind in _C_OF:
        return used
    cxx = [
        each
        for each in compilers.found
        if _C_OF.get(each.kind) == used.kind and each.version == used.version
    ]
    expected = Path(used.path).name.replace("gcc", "g++").replace("clang", "clang++")
    return min(cxx, key=lambda each: Path(each.path).name != expected, default=None)


def _sortable(compiler: Compiler) -> Version:
    try:
        return Version(compiler.version)
    except InvalidVersion:
        return Version("0")


def _partner(compilers: HostCompilers, cxx: Compiler) -> str | None:
    """Return the C compiler of the same installation: same version, same directory first."""
    same = [
        each
        for each in compilers.found
        if each.kind == _C_OF[cxx.kind] and each.version == cxx.version
    ]
    parent = Path(cxx.path).parent
    expected = Path(cxx.path).name.replace(cxx.kind, _C_OF[cxx.kind])
    same.sort(key=lambda c: (Path(c.path).parent != parent, Path(c.path).name != expected))
    return same[0].path if same else None


def _because(compilers: HostCompilers, chosen: Compiler, bounds: Bounds) -> str:
    used = _used(compilers)
    if used is None:
        return f"the newest on PATH for which {bounds} holds"
    if chosen.path == used.path:
        decided = compilers.used_because or "PATH"
        return f"it is the one that nvcc would take ({decided}), and {bounds} holds"
    why_not = bounds.refusal(used) or "it has no C compiler beside it"
    newest = f"the newest on PATH for which {bounds} holds"
    return f"{newest}; not {used.path} {used.version}: {why_not}"


def _way_out(bounds: Bounds) -> str:
    newest = bounds.limits.gcc_max if bounds.limits else None
    oldest = bounds.gcc_min.major if bounds.gcc_min else None
    major = newest if newest is not None else oldest
    if major is None:
        return "install a C++ compiler: apt-get install g++"
    span = f" ({oldest} to {newest})" if oldest and newest and oldest != newest else ""
    return f"install one that fits{span}, such as: apt-get install gcc-{major} g++-{major}"
