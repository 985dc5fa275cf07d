"""An image through the inspector: which device code is where in it, and which labels lie."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dsv4_doctor.binary.inspection import HEADERS, Options, inspect_opened
from dsv4_doctor.binary.objects import expand
from dsv4_doctor.images import claims
from dsv4_doctor.images.image import read_image
from dsv4_doctor.images.labels import FEATURES
from dsv4_doctor.knowledge.kernels import families

if TYPE_CHECKING:
    from pathlib import Path

    from dsv4_doctor.binary.contents import Inspection, SharedObject
    from dsv4_doctor.binary.objects import Opened
    from dsv4_doctor.images.image import Contents, ImageSummary


def inspect_image(path: Path, options: Options = HEADERS) -> tuple[Inspection, ImageSummary]:
    """Read what is inside an image, without unpacking it.

    Objects are listed when they hold device code: an image has thousands without. Labels are held
    against the objects that they are about in any case.

    Raises:
        InputError: The image is damaged, or its bytes are others than its digests say.
    """
    with read_image(path) as contents:
        return inspect_contents(path, contents, options)


def inspect_contents(
    path: Path, contents: Contents, options: Options = HEADERS
) -> tuple[Inspection, ImageSummary]:
    """Read what is inside an image that is open; see :func:`inspect_image`."""
    opened = [
        one
        for name, entry in sorted(contents.tree.items())
        if entry.code and entry.content is not None
        for one in expand(name, entry.content)
    ]
    inspection = inspect_opened(str(path), opened, options)
    found = claims.check(contents, _proved(path, contents, opened, options, inspection))
    # A static library may have device code in a few of its members.
    holding = tuple(each for each in inspection.objects if each.images or each.error)
    return replace(inspection, objects=holding), replace(contents.summary, claims=found)


def _proved(
    path: Path,
    contents: Contents,
    opened: list[Opened],
    options: Options,
    inspection: Inspection,
) -> tuple[SharedObject, ...]:
    """Return the objects that the labels are about, read for the features that they claim.

    Those of torch or of a toolkit hold a thousand times as much, and nothing of it could prove a
    label.
    """
    known = {each.id for each in families()}
    claimed = [each for each in contents.summary.labels.get(FEATURES, "").split() if each in known]
    about = claims.labelled(contents)
    if options.kernels or about is None or not claimed:
        return inspection.objects
    own = [each for each in opened if each.name in about.files]
    return inspect_opened(str(path), own, Options(prove=claimed)).objects
