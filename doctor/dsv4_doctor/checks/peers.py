"""Traffic between GPUs: peer-to-peer access, what redirects it, NVLink, NCCL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks import cuda_library
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.knowledge import machine
from dsv4_doctor.report import Command, Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dsv4_doctor.facts.pci import PciGpu
    from dsv4_doctor.facts.topology import Peer, Topology

_WORKAROUND = Command(env={"NCCL_P2P_DISABLE": "1"})
_MATRIX = "NVML, nvmlDeviceGetP2PStatus"


def _pairs(context: Context) -> tuple[Peer, ...]:
    topology = context.snapshot.topology
    return topology.peers if topology is not None else ()


def _linked(context: Context) -> bool:
    """Whether the GPUs reach each other by NVLink, so that PCIe does not matter."""
    return any(any(gpu.nvlinks) for gpu in context.snapshot.gpus or ())


def _listed(peers: tuple[Peer, ...]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(f"GPU {each.first} and {each.second}: {each.read or 'not told'}", _MATRIX)
        for each in peers
    )


@check(
    "gpu.peer.access",
    "peer-to-peer access",
    reads=("gpus", "topology"),
    fix="Use slots of one root complex, or set NCCL_P2P_DISABLE=1.",
)
def access(context: Context) -> Iterator[Finding]:
    """Whether the driver lets every pair of GPUs reach each other's memory.

    GeForce boards have none, and vLLM then goes through host memory; on boards that have it a
    pair without is a topology or a setting that costs bandwidth.
    """
    peers = _pairs(context)
    gpus = context.snapshot.gpus or ()
    told = tuple(each for each in peers if each.read is not None)
    if not told or not context.target.serves or cuda_library.consumer(gpus) is not None:
        return
    bad = tuple(each for each in told if each.read != "OK")
    first = (bad or told)[0]
    yield Finding(
        "gpu.peer.access",
        "warn" if bad else "pass",
        f"GPU {first.first} and {first.second} have no peer-to-peer access: {first.read}"
        if bad
        else "every pair of GPUs has peer-to-peer access",
        found=", ".join(f"{each.first}-{each.second}: {each.read}" for each in bad or told),
        expected="OK for every pair",
        evidence=_listed(bad or told),
        remedy=Remedy(
            "put the boards under one root complex, and look for peer-to-peer in the firmware;"
            " vLLM runs without it, through host memory"
        )
        if bad
        else None,
    )


@check(
    "gpu.peer.redirection",
    "IOMMU and ACS between GPUs",
    reads=("gpus", "pci", "topology"),
    reports=(
        "vllm-project/vllm#33041",
        "local-inference-lab/vllm#262",
        "vllm-project/vllm#51513",
    ),
    fix="Boot with iommu=pt and switch ACS off, or set NCCL_P2P_DISABLE=1.",
)
def redirection(context: Context) -> Iterator[Finding]:
    """Whether an IOMMU or ACS stands in the way of peer-to-peer traffic that the driver offers.

    The driver says that two GPUs have peer access, but their traffic is sent up to an IOMMU that
    translates it, and no byte arrives: NCCL or vLLM's custom all-reduce hangs without an error.
    GPUs with NVLink do not go that way, and a guest does not see the machine's settings. ACS is
    read from configuration space, which needs root; where it was not read nothing is said of it.
    """
    topology = context.snapshot.topology
    offered = tuple(each for each in _pairs(context) if each.read == "OK")
    if topology is None or not offered or _linked(context) or not context.target.serves:
        return
    if topology.virtual:
        return
    controllers = context.snapshot.pci or ()
    translated = [each for each in controllers if (each.iommu_domain or "").startswith("DMA")]
    redirected = [
        (bridge.pci, bridge.acs)
        for each in controllers
        for bridge in each.bridges
        if bridge.acs and {"ReqRedir", "CmpltRedir"} & set(bridge.acs)
    ]
    if not translated and not redirected:
        return
    rule = machine.values()["peer_redirection"]
    ways = ("an IOMMU that translates", translated), ("ACS that redirects", redirected)
    what = " and ".join(text for text, there in ways if there)
    yield Finding(
        "gpu.peer.redirection",
        "warn",
        f"peer-to-peer access is offered over PCIe, but {what} stands between the GPUs:"
        " a collective may hang without an error",
        found=what,
        expected="IOMMU in passthrough or off, no ACS redirection above the GPUs",
        evidence=(*_listed(offered[:1]), *_on_the_way(translated, redirected, topology)),
        source=(rule.source(rule.value),),
        remedy=Remedy(
            "boot with iommu=pt (or amd_iommu=off) and switch ACS off in the firmware; until then"
            " set this and start vLLM with --disable-custom-all-reduce. Test by moving data between"
            " GPUs: that peer access is offered proves nothing",
            (_WORKAROUND,),
        ),
    )


def _on_the_way(
    translated: Sequence[PciGpu],
    redirected: Sequence[tuple[str, tuple[str, ...]]],
    topology: Topology,
) -> Iterator[Evidence]:
    """Yield what translates or redirects, and what the kernel was told of it."""
    for each in translated:
        place = f"/sys/bus/pci/devices/{each.pci}/iommu_group/type"
        yield Evidence(f"domain {each.iommu_domain}", place)
    for pci, acs in redirected:
        yield Evidence(" ".join(acs), f"configuration space of bridge {pci}")
    for name, value in topology.kernel_parameters.items():
        yield Evidence(f"{name}={value}" if value else name, "/proc/cmdline")


@check(
    "gpu.peer.consumer",
    "peer-to-peer access of GeForce boards",
    reads=("gpus", "topology"),
    reports=(
        "aikitoria/open-gpu-kernel-modules#34",
        "tinygrad/open-gpu-kernel-modules#44",
    ),
    fix="Test peer access by moving data, or set NCCL_P2P_DISABLE=1.",
)
def modified(context: Context) -> Iterator[Finding]:
    """Whether GeForce boards offer peer-to-peer access, which only a modified kernel module does.

    NVIDIA's driver refuses it. A modified one needs BAR1 mapped statically: it refuses that on
    the GPU that drives a display, and on some boards peer addresses are not aligned as it needs
    (cudaErrorMapBufferObjectFailed), while the matrix of peers still says OK.
    """
    gpus = context.snapshot.gpus or ()
    board = cuda_library.consumer(gpus)
    offered = tuple(each for each in _pairs(context) if each.read == "OK")
    if board is None or not offered or _linked(context) or not context.target.serves:
        return
    shown = [gpu for gpu in gpus if gpu.display]
    display = f"; GPU {shown[0].index} drives a display, where BAR1 is not static" if shown else ""
    yield Finding(
        "gpu.peer.consumer",
        "warn",
        f"{board.name} offers peer-to-peer access: a modified kernel module{display}",
        found=", ".join(f"{each.first}-{each.second}: {each.read}" for each in offered),
        expected="peer-to-peer access tested by moving data, or switched off",
        evidence=(
            *_listed(offered),
            *(Evidence("display active", f"NVML, GPU {gpu.index}") for gpu in shown),
        ),
        remedy=Remedy(
            "test it by moving data between each pair; where a pair fails, force static BAR1, take"
            " the display off that GPU, or check that the module knows the alignment of this board"
            " (AM5 boards with two GPUs need a patch, and AMD-Vi off); until then switch it off",
            (_WORKAROUND,),
        ),
    )
