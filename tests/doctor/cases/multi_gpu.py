"""Reports of family 8: several GPUs and hardware."""

from __future__ import annotations

from dataclasses import replace

from tests.doctor.cases.case import Case, Invisible
from tests.doctor.machines import MIB, driver, gpu, healthy, pci, python_environment, resources

from dsv4_doctor.facts.driver import Fabric, Xid
from dsv4_doctor.facts.gpu import Gpu
from dsv4_doctor.facts.pci import PciBridge
from dsv4_doctor.facts.python import Distribution
from dsv4_doctor.facts.topology import Peer, Topology
from dsv4_doctor.snapshot import Snapshot
from dsv4_doctor.target import Target

SERVE = Target("0.24.0", ("sm_90",), (), "serve")
PRO_6000 = "NVIDIA RTX PRO 6000 Blackwell Workstation Edition"


def cards(count: int, name: str, brand: str, capability: str = "12.0") -> tuple[Gpu, ...]:
    return tuple(
        gpu(each, capability, name, brand=brand, nvlinks=(), fabric_state=None)
        for each in range(count)
    )


def pairs(count: int, status: str = "OK") -> tuple[Peer, ...]:
    return tuple(
        Peer(first, second, "NODE", status, status)
        for first in range(count)
        for second in range(first + 1, count)
    )


def redirected(count: int, acs: tuple[str, ...] | None = None) -> Snapshot:
    bridge = PciBridge("0000:40:01.1", "0x1022", acs=acs)
    controllers = tuple(
        pci(index, iommu_group=str(index), iommu_domain="DMA-FQ", bridges=(bridge,))
        for index in range(count)
    )
    return healthy(
        gpus=cards(count, PRO_6000, "NVIDIA RTX"),
        pci=controllers,
        topology=Topology(pairs(count), 60),
    )


def geforce(count: int, **changes: object) -> Snapshot:
    boards = cards(count, "NVIDIA GeForce RTX 5090", "GeForce")
    shown = (replace(boards[0], **changes), *boards[1:])  # type: ignore[arg-type]
    return healthy(gpus=shown, topology=Topology(pairs(count)))


def apertures(name: str, memory: int, bar1: int) -> Snapshot:
    boards = tuple(
        replace(each, memory=memory * MIB, bar1=bar1 * MIB, pci=None)
        for each in cards(2, name, "GeForce", "8.9")
    )
    return healthy(gpus=boards, pci=())


def with_nccl(version: str) -> Snapshot:
    known = python_environment()
    nccl = Distribution("nvidia-nccl-cu12", version, "site-packages")
    others = (each for each in known.distributions if "nccl" not in each.name)
    return healthy(
        gpus=cards(2, "NVIDIA GeForce RTX 5090", "GeForce"),
        python=replace(known, distributions=(*others, nccl)),
    )


CASES = (
    Case(
        "F8-01",
        "vllm-project/vllm#33041 / local-inference-lab/vllm#262",
        redirected(2),
        SERVE,
        "gpu.peer.redirection",
        "warn",
        ("IOMMU", "NCCL_P2P_DISABLE=1", "--disable-custom-all-reduce"),
    ),
    Case(
        "F8-04",
        "vllm-project/vllm#51513",
        redirected(4, ("SrcValid", "ReqRedir", "CmpltRedir")),
        SERVE,
        "gpu.peer.redirection",
        "warn",
        ("ACS", "ReqRedir", "iommu=pt", "moving data"),
    ),
    Case(
        "F8-05",
        "NVIDIA/nccl#1637",
        with_nccl("2.25.1"),
        SERVE,
        "nccl.version.gpu",
        names=("2.25.1", "sm_120", "2.26.2"),
    ),
    Case(
        "F8-07",
        "tinygrad/open-gpu-kernel-modules#13",
        apertures("NVIDIA GeForce RTX 4090", 24564, 256),
        SERVE,
        "gpu.bar1.size",
        "warn",
        ("256 MiB", "Resizable BAR", "Above 4G"),
    ),
    Case(
        "F8-08",
        "aikitoria/open-gpu-kernel-modules#14",
        apertures("NVIDIA GeForce RTX 4090", 49140, 32768),
        SERVE,
        "gpu.bar1.size",
        "warn",
        ("32768 MiB", "49140 MiB"),
    ),
    Case(
        "F8-10",
        "aikitoria/open-gpu-kernel-modules#34",
        geforce(3, display=True),
        SERVE,
        "gpu.peer.consumer",
        "warn",
        ("GPU 0 drives a display", "static BAR1"),
    ),
    Case(
        "F8-11",
        "tinygrad/open-gpu-kernel-modules#44",
        geforce(2),
        SERVE,
        "gpu.peer.consumer",
        "warn",
        ("modified kernel module", "alignment", "AM5"),
    ),
    Case(
        "F8-13",
        "eugr/spark-vllm-docker#389",
        healthy(
            gpus=cards(1, "NVIDIA GB10", "NVIDIA", "12.1"),
            topology=Topology(rdma=("roceP2p1s0f1", "rocep1s0f1")),
            resources=resources(memlock_soft=8 << 20, memlock_hard=8 << 20),
        ),
        SERVE,
        "serve.limit.locked",
        names=("roceP2p1s0f1", "memlock=-1"),
    ),
    Case(
        "F8-16",
        "vllm-project/vllm#19613",
        healthy(environment={"NCCL_BUFFSIZE": "1073741824"}),
        SERVE,
        "env.nccl.buffers",
        "warn",
        ("NCCL_BUFFSIZE",),
    ),
    Case(
        "F8-17",
        "pytorch/ci-infra#541",
        healthy(
            gpus=(gpu(0, fabric_state="In Progress", fabric_status=None),),
            driver=driver(fabric=Fabric(4, None, None, running=None)),
        ),
        SERVE,
        "gpu.fabric.state",
        names=("In Progress", "NCCL_NVLS_ENABLE=0", "fabric manager"),
    ),
    Case(
        "F8-19",
        "vllm-project/vime#103",
        healthy(
            gpus=(
                gpu(
                    0,
                    "10.0",
                    "NVIDIA GB200",
                    fabric_cluster="11111111-2222-3333-4444-555555555555",
                ),
            ),
            environment={"NCCL_CUMEM_ENABLE": "0"},
        ),
        SERVE,
        "env.nccl.cumem",
        "warn",
        ("MNNVL 0",),
    ),
    Case(
        "F8-20",
        "vllm-project/vllm#41848",
        healthy(
            gpus=(gpu(0, "9.0", "NVIDIA H100", mig=True),),
            environment={"CUDA_VISIBLE_DEVICES": "MIG-00000000-0000-0000-0000-000000000000"},
        ),
        Target("0.20.1", ("sm_90",), (), "serve"),
        "env.cuda.visible_devices",
        names=("MIG-", "0.24.0"),
    ),
    Case(
        "F8-22",
        "vllm-project/vllm#5222",
        healthy(gpus=(gpu(0), gpu(1, ecc_uncorrected=2))),
        SERVE,
        "gpu.memory.errors",
        names=("GPU 1", "uncorrected", "replace"),
    ),
    Case(
        "F8-23",
        "wtdcode/vllm-backport#62",
        healthy(
            driver=driver(
                xids=tuple(Xid("0000:17:00", code) for code in (48, 63, 94, 154)),
            ),
            gpus=(gpu(0, remapped_rows=12, remap_pending=True), gpu(1)),
        ),
        SERVE,
        "gpu.log.xid",
        "warn",
        ("Xid 48", "hardware before the software"),
    ),
    Case(
        "F8-25",
        "noonghunna/club-3090#895",
        healthy(
            gpus=cards(2, "NVIDIA GeForce RTX 3090", "GeForce", "8.6"),
            pci=(
                pci(0, bridges=(PciBridge("0000:00:01.1", "0x1022"),)),
                pci(
                    1,
                    bridges=(
                        PciBridge("0000:03:00.0", "0x1022"),
                        PciBridge("0000:02:00.2", "0x1022"),
                        PciBridge("0000:00:02.1", "0x1022"),
                    ),
                ),
            ),
        ),
        SERVE,
        "pcie.path.bandwidth",
        "warn",
        ("chipset", "processor"),
    ),
    Case(
        "F8-26",
        "vllm-project/vllm#5640",
        healthy(
            host=replace(
                healthy().host,  # type: ignore[type-var]
                kernel="5.15.136-tegra",
                machine="aarch64",
                tegra="R36.3.0",
            )
        ),
        SERVE,
        "host.jetson.wheels",
        "warn",
        ("Jetson", "index", "R36.3.0"),
    ),
)
INVISIBLE: tuple[Invisible, ...] = ()
