"""What a configured tree can build, from ninja's own list."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dsv4_build.answers import answer
from dsv4_doctor.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dsv4_build.only import Narrowed, UnitWish

_OBJECT = re.compile(r"(?:^|.*/)CMakeFiles/(?P<component>[^/]+)\.dir/(?P<source>.+)\.o")
_LINKER = "_LIBRARY_LINKER__"

# Seconds; those of the largest tree are listed in one.
_LIMIT = 60.0


@dataclass(frozen=True)
class Unit:
    """One object file.

    Attributes:
        object: Its path in the build directory, which is also its ninja target.
        component: The CMake target that it is part of.
        source: Path of the source below the tree that declares the target.
    """

    object: str
    component: str
    source: str


@dataclass(frozen=True)
class Targets:
    """All that ninja could build.

    Attributes:
        modules: Shared object of each component.
    """

    units: tuple[Unit, ...]
    modules: dict[str, str]


@dataclass(frozen=True)
class Goals:
    """What ninja is told to build.

    Attributes:
        units: Object files that were asked for.
        modules: Shared objects that were asked for, by component.
    """

    units: tuple[Unit, ...]
    modules: dict[str, str]

    @property
    def targets(self) -> tuple[str, ...]:
        """The arguments for ninja."""
        return (*(unit.object for unit in self.units), *self.modules.values())


def list_targets(program: str, build: Path) -> Targets:
    """Return what a configured tree can build.

    Args:
        program: Ninja.
        build: Directory that CMake configured.

    Raises:
        BuildError: Ninja does not list its targets.
    """
    argv = [program, "-C", str(build), "-t", "targets", "all"]
    return parse_targets(answer(argv, "ninja does not list its targets", limit=_LIMIT))


def parse_targets(text: str) -> Targets:
    """Read the output of ``ninja -t targets all``: a path and its rule on each line.

    Lines of any other form are left out.
    """
    units: list[Unit] = []
    modules: dict[str, str] = {}
    for line in text.splitlines():
        path, _, rule = line.rpartition(": ")
        match = _OBJECT.fullmatch(path)
        if match is not None:
            units.append(Unit(path, match["component"], match["source"]))
            continue
        _, linker, named = rule.partition(_LINKER)
        if linker:
            # The rule ends with the build type, which contains no underscore.
            modules[named.rpartition("_")[0]] = path
    return Targets(tuple(units), modules)


def goals(targets: Targets, narrowed: Narrowed) -> Goals:
    """Return what to build for a narrowed request.

    Raises:
        UsageError: The tree has no such unit or component; the message names close ones.
    """
    units: list[Unit] = []
    for wish in narrowed.units:
        matching = [unit for unit in targets.units if wish.matches(unit.component, unit.source)]
        if not matching:
            raise _no_unit(wish, targets.units)
        units += matching
    modules: dict[str, str] = {}
    for component in narrowed.components:
        if component not in targets.modules:
            msg = f"the tree builds no {component}; it builds: {', '.join(sorted(targets.modules))}"
            raise UsageError(msg)
        modules[component] = targets.modules[component]
    return Goals(tuple(dict.fromkeys(units)), modules)


def _no_unit(wish: UnitWish, units: Sequence[Unit]) -> UsageError:
    names = sorted({unit.source.rpartition("/")[2] for unit in units})
    close = difflib.get_close_matches(wish.path.rpartition("/")[2], names, n=5)
    msg = f"the tree compiles no {wish}"
    if close:
        msg += f"; close: {', '.join(close)}"
    hint = (
        ""
        if wish.component
        else "a source of an external project is named with its component: "
        "--only _vllm_fa3_C:flash_fwd_hdim128_bf16_sm90.cu"
    )
    return UsageError(msg, hint=hint)
