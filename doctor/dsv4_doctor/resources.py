"""Data files of this package: ``importlib.resources.files`` without its price where they are files.

Importing it loads zipfile and more, which every check would wait for.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.abc import Traversable


def files(package: str) -> Traversable:
    """Return the directory of a package; inside an archive what stands for it."""
    origin = import_module(package).__file__
    place = Path(origin).parent if origin is not None else None
    if place is not None and place.is_dir():
        return place
    from importlib import resources  # noqa: PLC0415

    return resources.files(package)
