"""What a build would do otherwise than its lock says."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from dsv4_build.sources import lock as locks
from dsv4_doctor.errors import BuildError, UsageError
from dsv4_doctor.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dsv4_build.plan import Plan
    from dsv4_build.request import BuildRequest
    from dsv4_build.sources.lock import Lock
    from dsv4_build.sources.resolution import Package

# Lines of a difference that an error repeats.
_SHOWN = 16


def settle(plan: Plan, request: BuildRequest, say: Callable[[str], None]) -> None:
    """Hold a plan against the lock that the request names, or write the lock.

    Raises:
        BuildError: They differ; the message shows where.
        InputError: The lock cannot be read or written.
        UsageError: A git mirror was named, too.
    """
    path = request.lock
    if path is None:
        return
    if plan.supply.mirror:
        msg = "--lock needs to know what is built, and what is in a --git-mirror is not known"
        raise UsageError(msg, hint="dsv4-doctor sources pull --mirror DIR, then build without it")
    found = locks.of_plan(plan, request.resolution)
    if path.exists() and not request.update_lock:
        _require_equal(locks.read(path), found, path)
        return
    write_atomically(path, found.to_text().encode())
    say(f"wrote {path}")


def _require_equal(locked: Lock, found: Lock, path: Path) -> None:
    different = differences(locked, found)
    if different:
        shown = different[:_SHOWN]
        if len(different) > len(shown):
            shown.append(f"and {len(different) - len(shown)} more lines")
        lines = "".join(f"\n  {line}" for line in shown)
        msg = f"{path}: this build is not the one that is locked{lines}"
        raise BuildError(msg, hint="if that is meant: --update-lock writes the lock anew")


def differences(locked: Lock, found: Lock) -> list[str]:
    """Return what differs: ``-`` as it is locked, ``+`` as it would be built."""
    before, after = _flat(locked), _flat(found)
    lines: list[str] = []
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            lines += [f"- {name}: {before[name]}"] if name in before else []
            lines += [f"+ {name}: {after[name]}"] if name in after else []
    return lines


def _flat(lock: Lock) -> dict[str, str]:
    flat = {f"tree {name}": str(value) for name, value in asdict(lock.tree).items()}
    flat |= {"archs": ", ".join(lock.archs), "python": lock.python, "machine": lock.machine}
    flat |= {
        f"source {pin.name}": f"{pin.url} {pin.revision} commit {pin.commit} tree {pin.tree}"
        for pin in lock.sources
    }
    flat |= {f"source {left.project}/{left.path}": "left out" for left in lock.left_out}
    flat |= {f"package {each.name}": _package(each) for each in lock.packages}
    chosen = lock.toolchain
    flat |= {"toolchain": f"{chosen.kind} nvcc {chosen.nvcc}", "compiler": chosen.compiler}
    flat |= {f"toolchain part {each.name}": _package(each) for each in chosen.parts}
    flat |= {f"tool {name}": version for name, version in chosen.tools.items()}
    flat |= {
        f"variable {name}": "the machine's own" if value is None else value
        for name, value in lock.variables.items()
    }
    return flat | {f"variables {name}": "kept" for name in lock.kept}


def _package(package: Package) -> str:
    return f"{package.version} sha256 {' '.join(each[:16] for each in package.sha256)}"
