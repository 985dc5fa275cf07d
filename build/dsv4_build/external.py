"""Leaving out external projects that a narrowed build does not need, in the copy that is built."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dsv4_doctor.knowledge.model import ExternalProject


def stub(project: ExternalProject) -> str:
    """Return a CMake file that declares the targets of a project and builds nothing."""
    lines = [
        f"# {project.name} is left out of this build: none of its components was asked for.",
        f'message(STATUS "dsv4-doctor: {project.name} is left out")',
    ]
    for component in project.components:
        lines += [
            f"if(NOT TARGET {component})",
            f"  add_custom_target({component})",
            "endif()",
        ]
    return "".join(f"{line}\n" for line in lines)


def leave_out(tree: Path, projects: Sequence[ExternalProject]) -> None:
    """Replace the CMake file of each project by a stub.

    Args:
        tree: The work copy; the user's own tree is never touched.

    Raises:
        BuildError: The tree is laid out in another way than the release's.
    """
    for project in projects:
        file = tree / project.cmake
        if not file.is_file() or file.parent == tree:
            msg = f"{project.name} cannot be left out: the tree has no {project.cmake}"
            raise BuildError(msg, hint="build without --only, or give the release's own sdist")
        file.write_text(stub(project), encoding="utf-8")
