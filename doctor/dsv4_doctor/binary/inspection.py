"""What a file, a wheel or a directory holds: the one function that commands and checks call."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.binary.contents import Inspection
from dsv4_doctor.binary.link_problems import LinkageSummary, summarise, wanted_of
from dsv4_doctor.binary.objects import open_files, open_objects
from dsv4_doctor.binary.package import Package, of_wheel
from dsv4_doctor.binary.reading import Reading
from dsv4_doctor.binary.symbols import owner_of, stem_of
from dsv4_doctor.binary.torch_libraries import read_torch
from dsv4_doctor.binary.verdicts import UNKNOWN_DRIVER, Driver
from dsv4_doctor.knowledge.kernels import families

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from os import PathLike

    from dsv4_doctor.arch import Arch
    from dsv4_doctor.binary.objects import Opened
    from dsv4_doctor.knowledge.kernels import Family


@dataclass(frozen=True)
class Options:
    """What to read; without any, only the headers, which give the architectures.

    Attributes:
        kernels: The kernel names of every cubin, to recognise all families.
        prove: Families to look for; reading stops at the first proof of each.
        prefer: Architectures whose code is looked at first, so that a proof is about them.
        gpus: GPUs for which to say whether they run each object.
        driver: What their driver can compile.
        linkage: How the objects are linked, and what is wrong with it.
        torch: A torch whose libraries to look for symbols in: see ``torch_libraries.read_torch``.
    """

    kernels: bool = False
    prove: Collection[str] = ()
    prefer: Collection[Arch] = ()
    gpus: Collection[Arch] = ()
    driver: Driver = UNKNOWN_DRIVER
    linkage: bool = False
    torch: Path | None = None


HEADERS = Options()
UNNAMED = Package()


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
        return _inspect(str(path), opened, options, _package(path, options))


def inspect_files(
    root: Path, names: Iterable[str], options: Options = HEADERS, package: Package = UNNAMED
) -> Inspection:
    """Read what is inside some files, such as those of an installed distribution.

    Args:
        root: What the names are relative to.
        names: Files; those that cannot hold code, and those that are gone, are left out.
        options: What to read of them.
        package: What the distribution says of itself.
    """
    with open_files(root, names) as opened:
        return _inspect(str(root), opened, options, package)


def _package(path: Path, options: Options) -> Package:
    if not options.linkage or path.is_dir():
        return UNNAMED
    return of_wheel(path) or UNNAMED


def _inspect(path: str, opened: Sequence[Opened], options: Options, package: Package) -> Inspection:
    wanted = _wanted(options.kernels, frozenset(options.prove))
    readings = [Reading(each, wanted) for each in opened]
    if len(readings) == 1 and readings[0].name == path and readings[0].error is not None:
        raise readings[0].error
    if options.kernels:
        for reading in readings:
            reading.read_all()
    else:
        _read_until_proved(readings, wanted, frozenset(arch.base for arch in options.prefer))
    summary = _linkage(readings, package, options.torch) if options.linkage else None
    objects = tuple(reading.result(options.gpus, options.driver) for reading in readings)
    searched = tuple(each.id for each in wanted)
    return Inspection(path, objects, searched, options.kernels, summary)


def _linkage(readings: Sequence[Reading], package: Package, torch: Path | None) -> LinkageSummary:
    for reading in readings:
        reading.read_linkage()
    linked = {each.name: each.linked for each in readings if each.linked is not None}
    wanted = wanted_of(linked.values())
    own = frozenset(symbol for each in readings for symbol in each.defines(wanted))
    left = wanted - own
    stems = frozenset(stem_of(each) for each in left if owner_of(each) == "torch") - {""}
    found = read_torch(torch, left, stems) if torch is not None else None
    return summarise(package, linked, own, found)


def _wanted(kernels: bool, prove: frozenset[str]) -> tuple[Family, ...]:
    return tuple(each for each in families() if each.variants and (kernels or each.id in prove))


def _read_until_proved(
    readings: list[Reading], wanted: tuple[Family, ...], prefer: frozenset[Arch]
) -> None:
    # Where a family usually is comes first, for every family, before anything else is read.
    for usual in (True, False):
        for family in wanted:
            for reading in readings:
                if any(each.tally.proves(family) for each in readings):
                    break
                if family.usual_in(reading.name) is usual:
                    reading.read_for(family, prefer)
