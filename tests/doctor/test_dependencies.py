"""What the doctor needs at run time stays pure Python, so that it packs into one file."""

from __future__ import annotations

import re
from importlib.metadata import distribution

from packaging.requirements import Requirement


def closure(root: str) -> set[str]:
    """Return all distributions that a plain install of ``root`` brings on this machine."""
    found: set[str] = set()
    pending = [root]
    while pending:
        name = re.sub(r"[-_.]+", "-", pending.pop()).lower()
        if name in found:
            continue
        found.add(name)
        for line in distribution(name).requires or ():
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                pending.append(requirement.name)
    return found


def test_no_run_time_dependency_has_compiled_code() -> None:
    names = closure("dsv4-doctor")
    assert {"typer", "rich", "packaging", "distro", "nvidia-ml-py"} <= names
    compiled = {
        name: str(file)
        for name in names
        for file in distribution(name).files or ()
        if file.suffix in {".so", ".pyd", ".dylib"}
    }
    assert compiled == {}
