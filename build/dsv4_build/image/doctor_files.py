"""The doctor that looks at the machine from inside the image: this one, with what it needs."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.requirements import Requirement

from dsv4_doctor.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAIN = b"""from dsv4_doctor.cli.main import main

main()
"""
# Written by whoever installed it, compiled, or a program that starts it elsewhere.
_NOT_KEPT = re.compile(
    r"(^|/)__pycache__/|^\.\./|\.dist-info/(RECORD|INSTALLER|REQUESTED|direct_url\.json)$|\.pyc$"
)
_OWN = ("dsv4_doctor", "dsv4_build")


def contents() -> Iterator[tuple[str, bytes]]:
    """Yield every file of a directory that Python runs as the doctor.

    Raises:
        BuildError: Something that it needs is installed in an unusual way.
    """
    yield "__main__.py", _MAIN
    for package in _OWN:
        root = Path(str(files(package)))
        for file in sorted(root.rglob("*")):
            name = file.relative_to(root).as_posix()
            if file.is_file() and not _NOT_KEPT.search(name):
                yield f"{package}/{name}", file.read_bytes()
    try:
        needed = sorted(_needed("dsv4-doctor"))
    except PackageNotFoundError as error:
        msg = f"the doctor cannot be copied into the image: {error} is not installed here"
        raise BuildError(
            msg, hint="pip install dsv4-doctor; the single file makes no images"
        ) from error
    for name in needed:
        yield from _distribution(name)


def _needed(name: str) -> set[str]:
    """Return the distributions that one needs, and those that they need, as far as installed.

    Markers are not evaluated: the Python of the image may be another.
    """
    found: set[str] = set()
    queue = [name]
    while queue:
        for text in distribution(queue.pop()).requires or ():
            requirement = Requirement(text)
            wanted = requirement.name.lower()
            if "extra ==" in str(requirement.marker or "") or wanted in found:
                continue
            try:
                distribution(wanted)
            except PackageNotFoundError:
                if requirement.marker is None:
                    raise
                continue
            found.add(wanted)
            queue.append(wanted)
    return found


def _distribution(name: str) -> Iterator[tuple[str, bytes]]:
    found = distribution(name)
    if found.files is None:
        msg = f"{name} is installed without a list of its files, so that it cannot be copied"
        raise BuildError(msg, hint="install dsv4-doctor with pip or uv")
    for file in sorted(found.files, key=str):
        path = Path(str(file.locate()))
        if not _NOT_KEPT.search(str(file)) and path.is_file():
            if path.suffix == ".so":
                msg = f"{name} has compiled code ({file}), which the image's Python may not load"
                raise BuildError(msg, hint="install dsv4-doctor into an environment of its own")
            yield str(file), path.read_bytes()
