"""What a source build takes of the machine: memory, disk, directories, remains of earlier ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dsv4_doctor.checks import selection
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.knowledge import machine
from dsv4_doctor.report import Command, Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dsv4_doctor.facts.host import Host
    from dsv4_doctor.facts.resources import Place
    from dsv4_doctor.report import Status

_GB = 1000**3
_GIB = 1 << 30


def _positive(environ: Mapping[str, str], name: str) -> int | None:
    """Return a number as vLLM's setup.py reads it, ``None`` for none or nonsense."""
    text = environ.get(name, "").strip()
    return int(text) if text.isascii() and text.isdecimal() and 0 < int(text) < 1 << 20 else None


@check(
    "build.memory.jobs",
    "memory for the build",
    reads=("environment", "gpus", "host", "resources"),
    reports=(
        "Dao-AILab/flash-attention#1549",
        "Dao-AILab/flash-attention#1811",
        "vllm-project/vllm#1782",
        "vllm-project/vllm#10575",
    ),
    fix="Set MAX_JOBS to what the memory holds.",
)
def jobs(context: Context) -> Iterator[Finding]:
    """Whether memory holds as many compilers as the build will run side by side.

    vLLM's setup.py starts as many jobs as there are processors and does not look at memory. A
    unit of FA3 takes several gigabytes: the compiler is killed without a message, or takes the
    machine with it. Limits of a container or a service count, and so does that of WSL2.
    """
    if not context.target.builds:
        return
    host = context.need("host", context.snapshot.host)
    environ = context.need("environment", context.snapshot.environment)
    if host.memory_available is None or host.memory is None:
        return
    set_to, threads = _positive(environ, "MAX_JOBS"), _positive(environ, "NVCC_THREADS") or 1
    parallel = max((set_to or host.cpus) // threads, 1)
    archs = len(selection.wanted_archs(context)) or threads
    each = machine.number("build_job_gb") * max(min(threads, archs), 1)
    fits = max(math.floor(host.memory_available / _GB / each), 1)
    status = _status(context, host, parallel, fits)
    cited = machine.values()["build_job_gb"]
    unit = machine.values()["build_unit_gb"]
    have = f"{host.memory_available / _GB:.0f} GB"
    yield Finding(
        "build.memory.jobs",
        status,
        _title(status, parallel, have, parallel * each),
        found=f"MAX_JOBS {set_to or 'not set'}, NVCC_THREADS {threads},"
        f" {host.cpus} processors, {have} free of {host.memory / _GB:.0f} GB",
        expected=f"at most {fits} jobs of about {each:.1f} GB",
        evidence=_evidence(context, host, set_to),
        source=(
            cited.source(f"about {cited.value} GB a job"),
            unit.source(f"up to {unit.value} GB for one unit"),
        ),
        remedy=None if status == "pass" else _fewer(host, fits * threads),
    )


def _status(context: Context, host: Host, parallel: int, fits: int) -> Status:
    resources = context.snapshot.resources
    swap = (resources.swap or 0) if resources is not None else 0
    if (host.memory or 0) + swap < machine.number("build_unit_gb") * _GB:
        return "fail" if context.target.purpose == "build" else "warn"
    return "pass" if parallel <= fits else "warn"


def _title(status: Status, parallel: int, have: str, need: float) -> str:
    jobs_ = f"{parallel} job{'' if parallel == 1 else 's'}"
    if status == "pass":
        return f"{have} of memory hold {jobs_}"
    if status == "fail":
        return f"{have} of memory do not hold the largest unit of the build"
    return f"{jobs_} need about {need:.0f} GB of memory at once, {have} are free"


def _evidence(context: Context, host: Host, set_to: int | None) -> tuple[Evidence, ...]:
    resources = context.snapshot.resources
    swap = resources.swap if resources is not None else None
    return (
        Evidence(f"{host.memory_available} bytes", "MemAvailable and limits of the cgroup"),
        Evidence(f"{host.cpus} processors", "affinity and quota of the cgroup"),
        Evidence(f"{set_to}" if set_to else "not set", "MAX_JOBS"),
        *((Evidence(f"{swap} bytes", "SwapTotal"),) if swap is not None else ()),
        *(
            (Evidence("WSL2, which gets a part of Windows' memory", "uname -r"),)
            if host.wsl
            else ()
        ),
    )


def _fewer(host: Host, most: int) -> Remedy:
    text = "limit the jobs, or build with dsv4-doctor build"
    if host.wsl:
        text += '; give WSL2 more memory in .wslconfig ("[wsl2]", "memory=...")'
    return Remedy(text, (Command(env={"MAX_JOBS": str(most)}),))


@check(
    "build.disk.space",
    "disk for the build",
    reads=("resources",),
    fix="Free space, or set TMPDIR to a directory on another disk.",
)
def disk(context: Context) -> Iterator[Finding]:
    """Whether the disks of the build directory and of temporary files have room for a build.

    Objects, linked libraries and the wheel lie side by side at the end, and a disk that is full
    then loses the hour.
    """
    if not context.target.builds:
        return
    resources = context.need("resources", context.snapshot.resources)
    least = machine.number("build_disk_gib") * _GIB
    places = [resources.place("build"), resources.place("temporary")]
    told = [place for place in places if place is not None and place.free is not None]
    if not told:
        return
    tight = [place for place in told if (place.free or 0) < least or _no_files(place)]
    shown = (tight or told)[0]
    cited = machine.values()["build_disk_gib"]
    yield Finding(
        "build.disk.space",
        "warn" if tight else "pass",
        f"{(shown.free or 0) / _GIB:.0f} GiB free in {shown.path}"
        + (f", and only {shown.files_free} files" if _no_files(shown) else ""),
        found=", ".join(f"{place.path}: {(place.free or 0) / _GIB:.1f} GiB" for place in told),
        expected=f"at least {cited.value} GiB",
        evidence=tuple(Evidence(f"{place.free} bytes", f"statvfs {place.path}") for place in told),
        source=(cited.source(f"at least {cited.value} GiB"),),
        remedy=Remedy("free space, build elsewhere, or set TMPDIR to a directory on another disk")
        if tight
        else None,
    )


def _no_files(place: Place) -> bool:
    """Whether a file system has room and no inodes left, which is also "no space left"."""
    return place.files_free is not None and place.files_free < machine.number("build_files")


@check(
    "build.disk.kind",
    "disk under the build",
    reads=("resources",),
    fix="Build in a directory on a local drive.",
)
def kind(context: Context) -> Iterator[Finding]:
    """Whether the build takes place on a directory that a hypervisor or the network shares.

    Tens of thousands of small files go through it, with locks and times that such file systems
    keep badly: under WSL2 that is every directory of Windows, such as /mnt/c.
    """
    resources = context.snapshot.resources
    place = resources.place("build") if resources is not None else None
    if place is None or place.disk is None or not context.target.builds:
        return
    shared = {"host share": "a directory shared by the host", "network": "a network file system"}
    what = shared.get(place.disk.kind)
    if what is None:
        return
    yield Finding(
        "build.disk.kind",
        "warn",
        f"{place.path} is on {what}: a build there is slow, and can fail on locks and times",
        found=f"{place.filesystem}, mounted on {place.mount}",
        expected="a local drive",
        evidence=(Evidence(f"{place.filesystem} on {place.mount}", "/proc/self/mountinfo"),),
        remedy=Remedy("build in a directory on a local drive, such as one below $HOME or /tmp"),
    )


@check(
    "build.place.usable",
    "directories of the build",
    reads=("resources",),
    fix="Set TMPDIR to a directory on a file system without noexec.",
)
def usable(context: Context) -> Iterator[Finding]:
    """Whether temporary files can be written, and programs among them run.

    pip puts ninja and cmake of an isolated build into TMPDIR and runs them there: on a file
    system mounted noexec that ends with "permission denied" after everything was downloaded.
    """
    if not context.target.builds:
        return
    resources = context.snapshot.resources
    place = resources.place("temporary") if resources is not None else None
    if place is None or (place.writable and place.executable):
        return
    what = "is mounted noexec" if place.writable else "cannot be written"
    yield Finding(
        "build.place.usable",
        "fail" if context.target.purpose == "build" else "warn",
        f"temporary directory {place.path} {what}",
        found=f"{place.path} on {place.mount or 'an unknown mount'}",
        expected="a directory that can be written, where programs run",
        evidence=(Evidence(what, f"mount of {place.path} ({place.chosen_by or 'the default'})"),),
        remedy=Remedy("set TMPDIR to a directory that can be written, where programs may run"),
    )


@check(
    "build.cache.stale",
    "remains of an earlier build",
    reads=("resources",),
    reports=("vllm-project/vllm#7785",),
    fix="Remove build, .deps and CMakeCache.txt.",
)
def stale(context: Context) -> Iterator[Finding]:
    """Whether a CMake cache of an earlier build here names programs that are gone.

    An isolated build takes ninja from a directory that pip deletes afterwards; CMake remembers
    the path, and the next build ends with "no such file or directory".
    """
    if not context.target.builds:
        return
    resources = context.snapshot.resources
    caches = resources.cmake_caches if resources is not None else ()
    bad = [each for each in caches if each.missing]
    if not bad:
        return
    yield Finding(
        "build.cache.stale",
        "fail",
        f"{bad[0].path} names a program that is gone: {bad[0].missing[0]}",
        found="; ".join(f"{each.path}: {', '.join(each.missing)}" for each in bad),
        expected="no cache, or one whose programs are there",
        evidence=tuple(Evidence(name, each.path) for each in bad for name in each.missing),
        remedy=Remedy(
            "remove what the earlier build left",
            tuple(Command(argv=("rm", each.path)) for each in bad),
        ),
    )


@check(
    "build.archs.chosen",
    "architectures of the build",
    reads=("environment", "gpus", "toolkits"),
    reports=("vllm-project/vllm#9152",),
    fix="Set TORCH_CUDA_ARCH_LIST to the GPUs that will serve.",
)
def archs(context: Context) -> Iterator[Finding]:
    """Whether a build without a GPU in sight is told for which architectures it is.

    torch asks the GPUs for them, and without one compiles for all that it knows: an image build
    then takes many times as long, or fails in ptxas on an architecture that is too old.
    """
    if not context.target.builds or selection.wanted_archs(context):
        return
    environ = context.snapshot.environment
    if environ is None or context.snapshot.gpus is None:
        return
    if environ.get("TORCH_CUDA_ARCH_LIST", "").strip():
        return
    toolkit = selection.toolkit(context) if context.snapshot.toolkits is not None else None
    nvcc = toolkit.nvcc_version if toolkit is not None else None
    known = context.release.archs_for(nvcc or context.release.main_cuda.value)
    listed = " ".join(arch.dotted for arch in known.archs) if known is not None else "all"
    yield Finding(
        "build.archs.chosen",
        "warn",
        f"no GPU and no TORCH_CUDA_ARCH_LIST: the build compiles for {listed}",
        found="no GPU, TORCH_CUDA_ARCH_LIST not set",
        expected="the architectures of the GPUs that will serve",
        evidence=(Evidence("not set", "TORCH_CUDA_ARCH_LIST"), Evidence("none", "NVML")),
        source=(known.place.source(f"CUDA_SUPPORTED_ARCHS: {listed}"),) if known else (),
        remedy=Remedy(
            "name the architectures, for a Hopper GPU for example",
            (Command(env={"TORCH_CUDA_ARCH_LIST": "9.0a"}),),
        ),
    )
