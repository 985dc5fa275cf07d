"""Proving one kernel family in an installed shared object, within milliseconds."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from dsv4_doctor.binary.device_code import read_images
from dsv4_doctor.binary.families import Tally
from dsv4_doctor.binary.payload import UndecodedError, read_kernels
from dsv4_doctor.binary.source import DiskFile
from dsv4_doctor.errors import InputError
from dsv4_doctor.knowledge import kernels

if TYPE_CHECKING:
    from pathlib import Path

# Cubins that are read at most: a probe may not decompress a whole library of 150 MB. In the wheels
# of vLLM 0.7.2, 0.24.0 and 0.33.0 the proof of FA3 is in the second or third.
_MOST = 16


def proved(path: Path, family: str, most: int = _MOST) -> bool:
    """Whether kernels of a family are in the first cubins that can hold them.

    ``False`` is no disproof: the rest of the file was not read.

    Args:
        path: Shared object.
        family: Id of the family, such as ``fa3``.
        most: How many cubins are read.

    Raises:
        InputError: The file cannot be read or is damaged.
    """
    wanted = [each for each in kernels.families() if each.id == family and each.variants]
    tally = Tally(wanted)
    with DiskFile(path) as source:
        images = read_images(source).usable
        for each in wanted:
            cubins = (at for at in images if at.kind == "cubin" and each.accepts(at.arch))
            for image in islice(cubins, most):
                try:
                    tally.add(image.arch, read_kernels(source, image))
                except (InputError, UndecodedError):
                    # One cubin that cannot be read says nothing about the next.
                    continue
                if tally.proves(each):
                    return True
    return False
