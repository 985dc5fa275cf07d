"""What the cache can give of a vLLM, without asking anybody else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_build import source
from dsv4_build.sources import crates, named, text, vendor
from dsv4_build.sources.pull import Pulled
from dsv4_build.sources.resolve import resolve
from dsv4_build.tree import requirements
from dsv4_doctor.errors import BuildError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dsv4_build.sources.store import Store
    from dsv4_build.sources.vendor import Crate


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


def crates_of(
    store: Store, chosen: Iterable[Pulled], say: Callable[[str], None]
) -> tuple[Crate, ...]:
    """Return the crates of these vLLMs, those of which the cache has all.

    Args:
        say: Is told of which it has not.
    """
    found: dict[str, Crate] = {}
    for each in chosen:
        wanted = vendor.crates(crates.locks(source.identify(Path(each.place)), store))
        lacking = len(vendor.lacking(store, wanted))
        if lacking:
            say(
                f"vLLM {each.vllm}: {lacking} of {len(wanted)} crates are not in the cache: without"
            )
            say(
                "them the file is for builds that have them in CARGO_HOME; sources pull brings them"
            )
        else:
            found |= {crate.sha256: crate for crate in wanted}
    return tuple(found.values())
