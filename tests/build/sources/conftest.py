from __future__ import annotations

from pathlib import Path

import pytest
from tests.build.sources import upstream as making
from tests.build.sources.upstream import Upstream

from dsv4_build.sources.store import Store


@pytest.fixture(scope="session")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Upstream:
    """The repositories of somebody else; no test writes to them."""
    return making.make(tmp_path_factory.mktemp("upstream"))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty cache."""
    return Store(tmp_path / "cache" / "sources")


@pytest.fixture(scope="session")
def filled(upstream: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A cache with the sources of the project; no test writes to it."""
    made = Store(tmp_path_factory.mktemp("filled") / "sources")
    making.pulled(made, upstream)
    return made
