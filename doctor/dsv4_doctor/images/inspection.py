"""An image through the inspector: which device code is where in it, and which labels lie."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dsv4_doctor.binary.inspection import HEADERS, inspect_opened
from dsv4_doctor.binary.objects import expand
from dsv4_doctor.images import claims
from dsv4_doctor.images.image import read_image
from dsv4_doctor.images.labels import FEATURES
from dsv4_doctor.knowledge.kernels import families

if TYPE_CHECKING:
    from pathlib import Path

    from dsv4_doctor.binary.contents import Inspection
    from dsv4_doctor.binary.inspection import Options
    from dsv4_doctor.images.image import Contents, ImageSummary


def inspect_image(path: Path, options: Options = HEADERS) -> tuple[Inspection, ImageSummary]:
    """Read what is inside an image, without unpacking it.

    Objects are listed when they hold device code: an image has thousands without. Features that a
    label claims are looked for in any case.

    Raises:
        InputError: The image is damaged, or its bytes are others than its digests say.
    """
    with read_image(path) as contents:
        return inspect_contents(path, contents, options)


def inspect_contents(
    path: Path, contents: Contents, options: Options = HEADERS
) -> tuple[Inspection, ImageSummary]:
    """Read what is inside an image that is open; see :func:`inspect_image`."""
    claimed = contents.summary.labels.get(FEATURES, "").split()
    known = {each.id for each in families()}
    prove = {*options.prove, *(each for each in claimed if each in known)}
    opened = [
        one
        for name, entry in sorted(contents.tree.items())
        if entry.code and entry.content is not None
        for one in expand(name, entry.content)
    ]
    inspection = inspect_opened(str(path), opened, replace(options, prove=prove))
    found = claims.check(contents, inspection.objects)
    return inspection, replace(contents.summary, claims=found)
