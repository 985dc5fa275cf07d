"""Bringing the crates of a tree that was pulled, so that its build needs no network for them."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_build import source
from dsv4_build.sources import crates, supply, vendor
from dsv4_build.sources.model import Missing
from dsv4_doctor.errors import BuildError

if TYPE_CHECKING:
    from dsv4_build.sources.pull import Options, Pulled
    from dsv4_build.sources.store import Store


def bring(store: Store, pulled: Pulled, options: Options) -> Pulled:
    """Return what was pulled, with what of the crates could not be had.

    Raises:
        InputError: The tree cannot be read.
    """
    identified = source.identify(Path(pulled.place))
    found_locks = crates.locks(identified, store)
    if not found_locks:
        return pulled
    git = crates.projects(identified, store)
    variables = supply.from_cache(store, git, (), options.variables).variables
    with tempfile.TemporaryDirectory(prefix=".crates-", dir=store.root) as name:
        tree = Path(name) / "tree"
        source.copy(identified, tree)
        environ = {**options.variables, **variables, "CARGO_NET_GIT_FETCH_WITH_CLI": "true"}
        try:
            crates.fetch(tree, environ, store.log, [()], options.say)
        except BuildError as error:
            reason = str(error).splitlines()[-1].strip()
            missing = Missing("crates", "", "registry", crates.LOCK, reason)
            found = replace(pulled.resolved, missing=(*pulled.resolved.missing, missing))
            return replace(pulled, resolved=found)
    wanted = vendor.crates(found_locks)
    home = options.variables.get("CARGO_HOME") or str(Path.home() / ".cargo")
    vendor.harvest(store, wanted, Path(home))
    return pulled
