"""What a file, a wheel or a directory holds: the one function that commands and checks call."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.binary.contents import Inspection
from dsv4_doctor.binary.objects import open_files, open_objects
from dsv4_doctor.binary.reading import read_headers
from dsv4_doctor.knowledge.kernels import families
from dsv4_doctor.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from os import PathLike

    from dsv4_doctor.arch import Arch
    from dsv4_doctor.binary.link_problems import LinkageSummary
    from dsv4_doctor.binary.objects import Opened
    from dsv4_doctor.binary.package import Package
    from dsv4_doctor.binary.reading import Reading
    from dsv4_doctor.binary.verdicts import Driver
    from dsv4_doctor.knowledge.kernels import Family


@dataclass(frozen=True)
class Options:
    """What to read; without any, only the headers, which give the architectures.

    Attributes:
        kernels: The kernel names of every cubin, to recognise all families.
        prove: Families to look for; reading stops at the first proof of each.
        most: Cubins of each object that may be read for one of those families, ``None`` for all.
            What was not read counts as unread, so that nothing is said to be missing.
        prefer: Architectures whose code is looked at first, so that a proof is about them.
        gpus: GPUs for which to say whether they run each object.
        driver: What their driver can compile, ``None`` when not known.
        linkage: How the objects are linked, and what is wrong with it.
        torch: A torch whose libraries to look for symbols in: see ``torch_libraries.read_torch``.
    """

    kernels: bool = False
    prove: Collection[str] = ()
    most: int | None = None
    prefer: Collection[Arch] = ()
    gpus: Collection[Arch] = ()
    driver: Driver | None = None
    linkage: bool = False
    torch: Path | None = None


HEADERS = Options()


def inspect_path(path: str | PathLike[str], options: Options = HEADERS) -> Inspection:
    """Read what is inside an object, fat binary, static library, wheel or directory.

    Args:
        path: What to look at.
        options: What to read of it.

    Raises:
        InputError: The path cannot be read or is of an unknown format. In an archive or a
            directory, an object that cannot be read is reported in its own ``error`` instead.
    """
    path = Path(path)
    with open_objects(path) as opened:
        return inspect_opened(str(path), opened, options)


def inspect_files(
    root: Path, names: Iterable[str], options: Options = HEADERS, package: Package | None = None
) -> Inspection:
    """Read what is inside some files, such as those of an installed distribution.

    Args:
        root: What the names are relative to.
        names: Files; those that cannot hold code, and those that are gone, are left out.
        options: What to read of them.
        package: What the distribution says of itself, as far as that is known.
    """
    with open_files(root, names) as opened:
        return inspect_opened(str(root), opened, options, package)


def inspect_opened(
    path: str, opened: Sequence[Opened], options: Options, package: Package | None = None
) -> Inspection:
    """Read what is inside objects that somebody else opened, and keeps open.

    Args:
        path: What messages call all of them.
        opened: The objects.
        options: What to read of them.
        package: What their distribution says of itself, as far as that is known.

    Raises:
        InputError: The path itself is the one object, and cannot be read.
    """
    wanted = _wanted(options.kernels, frozenset(options.prove))
    readings = read_headers(opened, wanted)
    if len(readings) == 1 and readings[0].name == path and readings[0].error is not None:
        raise readings[0].error
    if options.kernels:
        for reading in readings:
            reading.read_all()
    else:
        _read_until_proved(readings, wanted, options)
    summary = _linkage(path, readings, package, options.torch) if options.linkage else None
    objects = tuple(reading.result(options.gpus, options.driver) for reading in readings)
    searched = tuple(each.id for each in wanted)
    return Inspection(path, objects, searched, options.kernels, summary)


def _linkage(
    path: str, readings: Sequence[Reading], package: Package | None, torch: Path | None
) -> LinkageSummary:
    # Half of the inspector is about this: a check, which does not ask for it, does not load it.
    from dsv4_doctor.binary import package_linkage  # noqa: PLC0415

    return package_linkage.read(path, readings, package, torch)


def _wanted(kernels: bool, prove: frozenset[str]) -> tuple[Family, ...]:
    return tuple(each for each in families() if each.variants and (kernels or each.id in prove))


def _read_until_proved(
    readings: list[Reading], wanted: tuple[Family, ...], options: Options
) -> None:
    prefer = frozenset(arch.base for arch in options.prefer)
    # Where a family usually is comes first, for every family, before anything else is read.
    for usual in (True, False):
        for family in wanted:
            for reading in readings:
                if any(each.tally.proves(family) for each in readings):
                    break
                if family.usual_in(reading.name) is usual:
                    reading.read_for(family, prefer, options.most)
