"""What an image says of itself, and what its build is told: from the wheel and the request."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dsv4_build.image.context import digest, lock_digest
from dsv4_build.source import ZIP_EPOCH
from dsv4_doctor import __version__
from dsv4_doctor.images import labels as label

if TYPE_CHECKING:
    from pathlib import Path

    from dsv4_build.image.facts import Wheel
    from dsv4_build.image.request import ImageRequest


def epoch() -> int:
    """Return the time of everything in an image, in seconds.

    It depends on no input: a layer with another time in it is another layer, and all of them would
    be pulled anew for a wheel that was built on another day.
    """
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    return int(given) if given.isdecimal() else ZIP_EPOCH


def labels_of(request: ImageRequest, wheel: Wheel) -> dict[str, str]:
    """Return the labels: what was proved of the wheel, and the digests of the inputs."""
    found = {
        label.TITLE: f"{wheel.name} {wheel.version}",
        label.VERSION: wheel.version,
        label.REVISION: wheel.commit,
        # A directory's name says nothing elsewhere.
        label.BASE_NAME: "" if request.base.local else request.base.name,
        label.BASE_DIGEST: request.base.digest,
        label.DISTRIBUTION: wheel.name,
        label.ARCHS: " ".join(wheel.archs),
        label.FEATURES: " ".join(wheel.features),
        label.WHEEL: wheel.sha256,
        label.LOCK: lock_digest(request),
        label.JIT: request.jit,
        label.DOCTOR: __version__,
    }
    return {key: value for key, value in found.items() if value}


def arguments(request: ImageRequest, wheel: Wheel, root: Path) -> dict[str, str]:
    """Return the build arguments, apart from the base; every one that is declared has a value.

    Args:
        root: The build context, written.
    """
    return {
        "JIT": request.jit,
        "GLIBC_MIN": wheel.glibc,
        "PYTHON_MIN": wheel.python,
        "PYTHON_IS": wheel.python if wheel.exact else "",
        "MACHINE": wheel.machine,
        "APT_SNAPSHOT": request.apt_snapshot or "",
        "DEFINITION_SHA256": digest(root / "docker"),
        "DOCTOR_SHA256": digest(root / "doctor"),
        "PACKAGES_SHA256": digest(root / "packages"),
        "ARCHS": "",
        "WHEEL_SHA256": wheel.sha256,
        "WHEEL_ARCHS": " ".join(wheel.archs),
    }
