"""What a server takes of the machine: shared memory, files, locked memory, caches, disks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks import severity
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.facts.resources import UNLIMITED
from dsv4_doctor.knowledge import machine
from dsv4_doctor.report import Command, Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.facts.resources import Place

_GIB = 1 << 30
_KINDS = {
    "memory": "a file system in memory",
    "network": "a network file system",
    "nvme": "an NVMe drive",
    "raid": "a software RAID",
    "ssd": "a drive without rotating parts",
    "virtual": "a virtual disk, as fast as its host makes it",
}
_SLOW = {
    "host share": "a directory shared by the host: every shard goes through the hypervisor",
    "rotating": "a rotating disk",
}


@check(
    "serve.memory.shared",
    "shared memory",
    reads=("gpus", "resources"),
    reports=("vllm-project/vllm#1393", "MiniMax-AI/MiniMax-01#42"),
    fix="Start the container with --ipc=host or --shm-size=16g.",
)
def shared(context: Context) -> Iterator[Finding]:
    """Whether /dev/shm is large enough for several GPUs.

    Workers and NCCL hand data over through it. Docker gives a container 64 MiB, and NCCL then
    ends with an "unhandled system error" whose cause stands only in a warning. podman-compose
    ignores ``ipc``.
    """
    if not context.target.serves or len(context.snapshot.gpus or ()) < 2:
        return
    place = context.need("resources", context.snapshot.resources).place("shared memory")
    if place is None or place.size is None:
        return
    least, good = machine.values()["shared_memory_least_gib"], place.size / _GIB
    enough = good >= machine.number("shared_memory_least_gib")
    advice = machine.values()["shared_memory_recommended_gib"]
    yield Finding(
        "serve.memory.shared",
        "pass" if enough else severity.serving_fault(context.target),
        f"{place.path} has {good:.1f} GiB"
        + ("" if enough else ": too small for NCCL and the workers of several GPUs"),
        found=f"{place.size} bytes",
        expected=f"at least {least.value} GiB; vLLM's documentation gives {advice.value} GiB",
        evidence=(Evidence(f"{place.size} bytes", f"statvfs {place.path}"),),
        source=(
            least.source(f"shared memory >= {least.value} GiB with several GPUs"),
            advice.source(f"--shm-size={advice.value}G"),
        ),
        remedy=None
        if enough
        else Remedy(
            "start the container with --ipc=host or --shm-size=16g; in Kubernetes mount an"
            " emptyDir of medium Memory there; on a machine of its own remount it",
            (Command(argv=("mount", "-o", "remount,size=16G", place.path), root=True),),
        ),
    )


@check(
    "serve.limit.files",
    "open files",
    reads=("resources",),
    fix="Raise LimitNOFILE of the service or nofile of the container to 65535.",
)
def open_files(context: Context) -> Iterator[Finding]:
    """Whether vLLM may raise the number of open files to what it wants.

    It raises the soft limit at its start; the hard limit is what it cannot pass.
    """
    if not context.target.serves:
        return
    resources = context.snapshot.resources
    hard = resources.nofile_hard if resources is not None else None
    wanted = machine.values()["open_files"]
    if hard is None or hard == UNLIMITED or hard >= int(wanted.value):
        return
    yield Finding(
        "serve.limit.files",
        "warn",
        f"at most {hard} open files, vLLM wants {wanted.value}",
        found=str(hard),
        expected=f">= {wanted.value}",
        evidence=(Evidence(str(hard), "RLIMIT_NOFILE, hard limit"),),
        source=(wanted.source(f"set_ulimit: {wanted.value} open files"),),
        remedy=Remedy(
            "raise it where the server is started: LimitNOFILE= of the service, --ulimit"
            " nofile=65535:65535 of the container, or /etc/security/limits.conf"
        ),
    )


@check(
    "serve.limit.locked",
    "locked memory",
    reads=("host", "resources", "topology"),
    reports=("eugr/spark-vllm-docker#389",),
    fix="Start the container with --ulimit memlock=-1, the service with LimitMEMLOCK=infinity.",
)
def locked(context: Context) -> Iterator[Finding]:
    """Whether memory may be locked without a limit where there are adapters for RDMA.

    They register memory by locking it. Under the usual limit that ends with "cannot allocate
    memory", which is no lack of memory. Without an adapter nobody needs it.
    """
    topology = context.snapshot.topology
    if not context.target.serves or topology is None or not topology.rdma:
        return
    limit = context.need("resources", context.snapshot.resources).memlock_soft
    host = context.snapshot.host
    memory = host.memory if host is not None else None
    if limit is None:
        return
    enough = limit == UNLIMITED or (memory is not None and limit >= memory)
    rule = machine.values()["locked_memory"]
    yield Finding(
        "serve.limit.locked",
        "pass" if enough else severity.missing_for_serving(context.target),
        "memory may be locked without a limit"
        if enough
        else f"only {limit} bytes may be locked, and {topology.rdma[0]} is an adapter for RDMA",
        found="unlimited" if limit == UNLIMITED else f"{limit} bytes",
        expected="unlimited, with InfiniBand or RoCE",
        evidence=(
            Evidence("unlimited" if limit == UNLIMITED else str(limit), "RLIMIT_MEMLOCK"),
            Evidence(", ".join(topology.rdma), "/sys/class/infiniband"),
        ),
        source=(rule.source("ulimit -l unlimited with InfiniBand or RoCE"),),
        remedy=None
        if enough
        else Remedy(
            "start the container with --ulimit memlock=-1, the service with"
            " LimitMEMLOCK=infinity; in Kubernetes raise it for the container runtime"
        ),
    )


@check(
    "serve.cache.usable",
    "caches of compiled kernels",
    reads=("resources",),
    fix="Name caches that can be written and mapped, such as with VLLM_CACHE_ROOT.",
)
def caches(context: Context) -> Iterator[Finding]:
    """Whether kernels that are compiled at run time can be written and loaded.

    Triton, FlashInfer and DeepGEMM compile shared objects into directories of the user and map
    them as code. In a container with a read-only root, or on a file system mounted noexec, the
    first request fails.
    """
    if not context.target.serves:
        return
    resources = context.need("resources", context.snapshot.resources)
    places = [each for each in resources.places if each.role.startswith("cache of ")]
    bad = [each for each in places if not each.writable or not each.executable]
    if not bad:
        return
    first = bad[0]
    yield Finding(
        "serve.cache.usable",
        severity.missing_for_serving(context.target),
        f"the {first.role} cannot be used: {first.path} {_trouble(first)}",
        found="; ".join(f"{each.role}: {each.path} {_trouble(each)}" for each in bad),
        expected="directories that can be written, and mapped as code",
        evidence=tuple(
            Evidence(_trouble(each), f"{each.path} ({each.chosen_by or 'the default'})")
            for each in bad
        ),
        remedy=Remedy(
            f"set {_VARIABLES[first.role]} to a directory that can be, on a volume that outlives"
            " the container"
        ),
    )


_VARIABLES = {
    "cache of vLLM": "VLLM_CACHE_ROOT",
    "cache of Triton": "TRITON_CACHE_DIR",
    "cache of FlashInfer": "FLASHINFER_WORKSPACE_BASE",
    "cache of DeepGEMM": "DG_JIT_CACHE_DIR",
}


def _trouble(place: Place) -> str:
    return "cannot be written" if not place.writable else "is mounted noexec"


@check(
    "serve.disk.model",
    "disk under the models",
    reads=("resources",),
    fix="Keep models on a local NVMe drive, named by HF_HOME.",
)
def model(context: Context) -> Iterator[Finding]:
    """Whether the weights are loaded from a disk that is fast enough, and what kind it is.

    Hundreds of gigabytes are read at every start: seconds from NVMe drives, an hour through a
    directory that a hypervisor shares or from a rotating disk. A network's file system is as fast
    as the network, and vLLM reads ahead there.
    """
    if not context.target.serves:
        return
    resources = context.snapshot.resources
    place = resources.place("model") if resources is not None else None
    if place is None or place.disk is None or not place.disk.kind:
        return
    disk = place.disk
    slow = _SLOW.get(disk.kind)
    link = f", {disk.link}" if disk.link else ""
    raid = f" ({disk.raid} of {', '.join(disk.members)})" if disk.raid else ""
    kind = f"{_KINDS.get(disk.kind, disk.kind)}{raid}{link}"
    yield Finding(
        "serve.disk.model",
        "warn" if slow else "pass",
        f"models in {place.path} are on {slow}" if slow else f"models are on {kind}",
        found=f"{place.filesystem} on {disk.name or place.mount}: {kind}",
        expected="a local NVMe drive, or a network file system made for it",
        evidence=(
            Evidence(f"{place.filesystem}, mounted on {place.mount}", "/proc/self/mountinfo"),
            *((Evidence(disk.name, "/sys/dev/block"),) if disk.name else ()),
        ),
        remedy=Remedy("keep the models on a local drive: set HF_HOME to a directory on one")
        if slow
        else None,
    )
