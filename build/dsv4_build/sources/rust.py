"""Giving cargo what a tree's Rust parts need, before compilers run without a network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_build.sources import crates, vendor
from dsv4_build.sources.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dsv4_build.plan import Plan
    from dsv4_build.request import Surroundings
    from dsv4_build.work import Workspace


def provide(
    plan: Plan,
    work: Workspace,
    environ: Mapping[str, str],
    around: Surroundings,
    say: Callable[[str], None],
) -> None:
    """Lay out the crates that the cache has, and let cargo bring the others.

    Raises:
        InputError: A crate in the cache is broken.
        BuildError: A crate cannot be had.
    """
    store = Store(around.cache / "sources")
    wanted = vendor.crates(crates.in_directory(work.source))
    if vendor.lay_out(store, wanted, work.root):
        say(f"{len(wanted)} crates come from the cache")
    crates.fetch(work.source, environ, work.log, plan.isolation.ways(plan.offline), say)
