"""Reading the wheel that a build made."""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass
from email.parser import HeaderParser
from typing import TYPE_CHECKING

from dsv4_doctor.errors import BuildError

if TYPE_CHECKING:
    from pathlib import Path

BROKEN = (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, NotImplementedError)

_METADATA = ".dist-info/METADATA"


@dataclass(frozen=True)
class Identity:
    """What a wheel says that it is.

    Attributes:
        name: Of the distribution, as its metadata spells it.
        file: Name of the file.
        directory: Name of its ``.dist-info`` directory.
    """

    name: str
    version: str
    file: str
    directory: str


def identity(wheel: Path) -> Identity:
    """Return what a wheel says that it is.

    Raises:
        BuildError: It cannot be read, or has no metadata.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = [each for each in archive.namelist() if each.endswith(_METADATA)]
            if len(names) != 1:
                msg = f"{wheel}: a wheel has one METADATA, this has {len(names)}"
                raise BuildError(msg)
            text = archive.read(names[0]).decode("utf-8", "replace")
    except BROKEN as error:
        msg = f"{wheel}: cannot be read: {error}"
        raise BuildError(msg) from error
    headers = HeaderParser().parsestr(text)
    directory = names[0].partition("/")[0]
    return Identity(headers.get("Name", ""), headers.get("Version", ""), wheel.name, directory)


def require_version(wheel: Path, expected: str) -> Identity:
    """Return what a wheel says that it is, once that is the version that was asked for.

    Raises:
        BuildError: Its metadata, its file name or its directory say another one.
    """
    found = identity(wheel)
    told = {
        "METADATA": found.version,
        "file name": found.file.split("-")[1] if found.file.count("-") > 3 else "",
        found.directory: found.directory.removesuffix(".dist-info").rpartition("-")[2],
    }
    wrong = [f"{where} says {said!r}" for where, said in told.items() if said != expected]
    if wrong:
        msg = f"the wheel's version is not {expected}: {', '.join(wrong)}"
        raise BuildError(msg)
    return found
