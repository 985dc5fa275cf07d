"""What the cache can give of a vLLM, without asking anybody else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_build import source
from dsv4_build.sources import crates, named, text
from dsv4_build.sources.pull import Pulled
from dsv4_build.sources.resolve import resolve
from dsv4_build.tree import requirements
from dsv4_doctor.errors import BuildError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsv4_build.sources.store import Store


def find(store: Store, vllm: str, leave_out: Sequence[str]) -> Pulled:
    """Return the sources of a vLLM, all of them.

    Args:
        vllm: A release, an sdist, a checkout, or a commit of vLLM's repository.

    Raises:
        UsageError: It names nothing that is here.
        InputError: A file cannot be read.
        BuildError: Something is missing; the message says what, and how to bring it.
    """
    path = named.find(store, vllm) or Path(vllm).expanduser().absolute()
    if not path.exists():
        msg = f"--vllm {vllm}: not in the cache, and no such file or directory"
        raise UsageError(msg, hint=f"dsv4-doctor sources pull --vllm {vllm}")
    identified = source.identify(path)
    release, _ = requirements(identified, path)
    needed = (*release.external_projects, *crates.projects(identified, store))
    found = resolve(store, needed, leave_out)
    if found.missing:
        message, way = text.missing(found.missing, vllm)
        raise BuildError(message, hint=way)
    archive = store.keep(path) if identified.kind == "sdist" else None
    return Pulled(release.name, archive, str(path), found)
