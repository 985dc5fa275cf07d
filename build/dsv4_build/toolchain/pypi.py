"""Assembling a complete CUDA toolkit from PyPI's wheels, in a directory named by its pins."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_build.cache import cache_root, locked
from dsv4_build.toolchain import install, tree, verify
from dsv4_doctor.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dsv4_build.compilers import HostCompiler
    from dsv4_build.toolchain.pins import Selection

    Say = Callable[[str], None]

_FETCHED = re.compile(
    r"^\s*(?:Downloading|Processing|Using cached) (?:\S*/)?"
    r"(?P<name>nvidia_\w+?)-(?P<version>[\d.]+)-\S+\.whl(?P<size> \(\d.*\))?"
)


def place(selection: Selection, cache: Path | None = None) -> Path:
    """Return where the toolkit of these pins is, or would be."""
    return (cache or cache_root()) / "toolchains" / selection.tree_name


def require(selection: Selection, cache: Path | None = None) -> None:
    """Refuse a toolkit that would have to be fetched.

    Raises:
        BuildError: It is not there.
    """
    wanted = place(selection, cache)
    if not wanted.is_dir():
        msg = f"{wanted} is not there, and --offline fetches nothing"
        raise BuildError(msg, hint="with a network: dsv4-doctor toolchain")


def assemble(
    selection: Selection,
    compiler: HostCompiler,
    *,
    cache: Path | None = None,
    say: Say = lambda _: None,
) -> Path:
    """Return the toolkit, assembling it first when it is not there.

    It is made in a directory beside its place and renamed only when it has been verified, so that
    a directory of this name is always complete. Two processes take turns.

    Args:
        compiler: Makes the driver stub, and nvcc is tried with it.
        cache: Instead of the user's cache directory.
        say: Takes progress lines.

    Raises:
        BuildError: A part could not be installed, or the parts do not fit together.
    """
    wanted = place(selection, cache)
    if wanted.is_dir():
        return wanted
    lock = wanted.with_name(f".{wanted.name}.lock")
    with locked(lock, on_wait=lambda: say(f"waiting for another process that makes {wanted}")):
        if not wanted.is_dir():
            _sweep(wanted)
            _make(selection, wanted, compiler, say)
    return wanted


def _sweep(wanted: Path) -> None:
    """Remove what an earlier process left half-made when it was killed."""
    for left in wanted.parent.glob(f".{wanted.name}.stage-*"):
        shutil.rmtree(left, ignore_errors=True)


def _make(selection: Selection, wanted: Path, compiler: HostCompiler, say: Say) -> None:
    pins = selection.pins
    log = wanted.with_name(f"{wanted.name}.log")
    stage: Path | None = None
    try:
        log.unlink(missing_ok=True)
        stage = Path(tempfile.mkdtemp(prefix=f".{wanted.name}.stage-", dir=wanted.parent))
        requirements = stage / f"cuda-{pins.release}-{selection.group}.txt"
        requirements.write_text(selection.requirements, encoding="utf-8")
        parts = f"{len(selection.parts)} parts of CUDA {pins.release} ({selection.group})"
        say(f"fetching {parts} into {wanted}")
        install.install(requirements, stage / "unpacked", log, on_line=_parts_only(say))
        say("arranging and verifying the toolkit")
        tree.arrange(stage / "unpacked", stage / "tree", pins, compiler.cc)
        verify.verify(stage / "tree", selection, compiler.cxx)
        (stage / "tree").rename(wanted)
    except OSError as error:
        msg = f"the toolkit could not be assembled in {wanted.parent}: {error}"
        hint = "XDG_CACHE_HOME names the directory above it; it must be writable and have room"
        raise BuildError(msg, hint=hint) from error
    finally:
        if stage is not None:
            shutil.rmtree(stage, ignore_errors=True)


def _parts_only(say: Say) -> Say:
    """Let through what an installer says of a part, not of its own business."""

    def filtered(line: str) -> None:
        match = _FETCHED.search(line)
        if match is not None:
            say(f"{match['name'].replace('_', '-')} {match['version']}{match['size'] or ''}")

    return filtered
