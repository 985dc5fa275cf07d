"""Whether the device code of one object runs on a GPU, how, and why not.

An object holds one fat binary for each source file. The driver takes the best image of each, and
where it finds none, the kernels of that file are missing on that GPU while the others work.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from dsv4_doctor.arch import Arch
from dsv4_doctor.binary.compatibility import isa_key, limits, ptx_runs_on, runs_on
from dsv4_doctor.errors import UsageError
from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.gpu_archs import gpu_arch, gpu_archs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dsv4_doctor.binary.fatbin import Image

# What decides about one image: kind, architecture and PTX ISA.
_Code: TypeAlias = "tuple[str, Arch, str | None]"


@dataclass(frozen=True)
class Driver:
    """What a driver can compile.

    Attributes:
        cuda: Its CUDA version, empty when not known.
        isa: Newest PTX ISA version that it knows, ``None`` when not known.
    """

    cuda: str = ""
    isa: str | None = None


@dataclass(frozen=True)
class GpuVerdict:
    """Whether one object's device code runs on one GPU.

    Attributes:
        gpu: Such as ``sm_90``.
        runs: ``all`` of its fat binaries, ``some`` or ``none`` of them.
        sass: Fat binaries with machine code that runs there.
        ptx: Fat binaries of which only PTX can be used, compiled by the driver at first use.
        none: Fat binaries of which nothing runs there.
        archs: The code that is used, such as ``sm_90a`` and ``compute_80``.
        reason: All of it in words.
    """

    gpu: str
    runs: Literal["all", "some", "none"]
    sass: int
    ptx: int
    none: int
    archs: tuple[str, ...]
    reason: str


def parse_gpus(texts: Iterable[str]) -> tuple[Arch, ...]:
    """Read GPUs as given on the command line: ``sm_90``, ``9.0``, ``90``.

    Raises:
        UsageError: There is no such GPU; the message lists those that there are.
    """
    gpus = []
    for text in texts:
        try:
            gpu = Arch.parse(text).base
        except ValueError:
            gpu = Arch(0)
        if gpu not in gpu_archs():
            known = ", ".join(each.dotted for each in gpu_archs())
            msg = f"unknown GPU {text!r}; known compute capabilities: {known}"
            raise UsageError(msg)
        gpus.append(gpu)
    return tuple(dict.fromkeys(gpus))


def parse_driver(cuda: str | None) -> Driver | None:
    """Return what a driver of this CUDA version can compile, by ``knowledge/cuda.json``.

    ``None`` stays ``None``: which driver it will be is not known.

    Raises:
        UsageError: The version is not known.
    """
    if cuda is None:
        return None
    known = {each.name: each.ptx for each in load.toolkit_releases() if each.ptx}
    isa = known.get(cuda.strip())
    if isa is None:
        msg = f"unknown CUDA version of a driver {cuda!r}; known: {', '.join(known)}"
        raise UsageError(msg)
    return Driver(cuda.strip(), isa)


def judge(images: Iterable[Image], gpu: Arch, driver: Driver | None = None) -> GpuVerdict:
    """Say what of an object's device code runs on a GPU.

    Args:
        images: Those of one object.
        gpu: The GPU.
        driver: What its driver can compile, ``None`` when not known.
    """
    driver = driver or Driver()
    found = [_Found(alike, number, gpu, driver) for alike, number in _alike(images).items()]
    total = {
        how: sum(each.number for each in found if each.verdict.how == how)
        for how in ("sass", "ptx", "none")
    }
    running = total["sass"] + total["ptx"]
    return GpuVerdict(
        gpu=gpu.sm,
        runs="none" if not running else "some" if total["none"] else "all",
        sass=total["sass"],
        ptx=total["ptx"],
        none=total["none"],
        archs=(*_used(found, "sass"), *_used(found, "ptx")),
        reason="; ".join(_reasons(found, gpu, driver, total)),
    )


def name_of(gpu: str) -> str:
    """Return a GPU with examples of products, such as ``9.0 (H100, H200, GH200)``."""
    arch = Arch.parse(gpu)
    products = gpu_arch(arch).products
    return f"{arch.dotted} ({', '.join(products)})" if products else arch.dotted


def _alike(images: Iterable[Image]) -> Counter[frozenset[_Code]]:
    """Count the fat binaries that hold the same code."""
    found: dict[int, set[_Code]] = defaultdict(set)
    for image in images:
        found[image.container].add((image.kind, image.arch, image.isa))
    return Counter(frozenset(each) for each in found.values())


class _Found:
    """Some fat binaries that hold the same code, and what of it runs."""

    def __init__(self, alike: frozenset[_Code], number: int, gpu: Arch, driver: Driver) -> None:
        self.number = number
        self.sass = {arch for kind, arch, _ in alike if kind == "cubin"}
        self.isa: dict[Arch, str] = {}
        for kind, arch, isa in alike:
            if kind == "ptx" and isa is not None:
                self.isa[arch] = min(self.isa.get(arch, isa), isa, key=isa_key)
        self.verdict = runs_on(gpu, self.sass, self.isa, ptx_isa=self.isa, driver_isa=driver.isa)


def _used(found: Iterable[_Found], how: str) -> list[str]:
    archs = {each.verdict.arch for each in found if each.verdict.how == how}
    names = [arch for arch in archs if arch is not None]
    return [arch.compute if how == "ptx" else arch.sm for arch in sorted(names)]


def _reasons(
    found: Sequence[_Found], gpu: Arch, driver: Driver, total: Mapping[str, int]
) -> Iterator[str]:
    every = sum(total.values())
    if total["sass"]:
        archs = ", ".join(_used(found, "sass"))
        yield f"{total['sass']} of {every} fat binaries as machine code ({archs})"
    if total["ptx"]:
        archs = ", ".join(_used(found, "ptx"))
        knows = _driver(found, driver)
        yield f"{total['ptx']} of {every} compiled by the driver from PTX ({archs}), {knows}"
    if total["none"]:
        lacking = [each for each in found if each.verdict.how == "none"]
        yield f"{total['none']} of {every} not at all: {'; '.join(_lacks(lacking, gpu, driver))}"


def _driver(found: Iterable[_Found], driver: Driver) -> str:
    isas = {
        each.isa[each.verdict.arch]
        for each in found
        if each.verdict.how == "ptx" and each.verdict.arch is not None
    }
    newest = max(isas, key=isa_key)
    if driver.isa is not None:
        return f"PTX ISA {newest}, which a driver of CUDA {driver.cuda} knows"
    return f"if it knows PTX ISA {newest}{_since(newest)}"


def _since(isa: str) -> str:
    knowing = [
        each.name
        for each in load.toolkit_releases()
        if each.ptx and isa_key(each.ptx) >= isa_key(isa)
    ]
    return f" (CUDA {min(knowing, key=isa_key)} and newer)" if knowing else ""


def _lacks(lacking: Sequence[_Found], gpu: Arch, driver: Driver) -> Iterator[str]:
    sass = {arch for each in lacking for arch in each.sass}
    ptx = {arch for each in lacking for arch in each.isa}
    yield from limits(gpu, sorted(sass), sorted(each for each in ptx if not ptx_runs_on(gpu, each)))
    too_new: dict[str, set[Arch]] = defaultdict(set)
    for each in lacking:
        for arch, isa in each.isa.items():
            if ptx_runs_on(gpu, arch):
                too_new[isa].add(arch)
    for isa, archs in sorted(too_new.items(), key=lambda pair: isa_key(pair[0])):
        names = ", ".join(arch.compute for arch in sorted(archs))
        yield (
            f"{names} PTX is written in ISA {isa}{_since(isa)}, and a driver of CUDA "
            f"{driver.cuda} knows ISA {driver.isa} at most"
        )
    if any(not each.sass and not each.isa for each in lacking):
        yield "neither machine code nor PTX in it"
