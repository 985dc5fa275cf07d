"""Machines with many faults at once, on which checks of the machine have something to say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tests.doctor.machines import bare, driver, gpu, healthy, pci, place, resources

from dsv4_doctor.facts.containers import Containers
from dsv4_doctor.facts.driver import CudaStart, Xid
from dsv4_doctor.facts.host import Host
from dsv4_doctor.facts.pci import PciBridge
from dsv4_doctor.facts.resources import Disk
from dsv4_doctor.facts.topology import Topology
from dsv4_doctor.snapshot import Snapshot

_VARIABLES = {
    "CUDA_LAUNCH_BLOCKING": "1",
    "CUDA_VISIBLE_DEVICES": "0,7",
    "LD_PRELOAD": "/opt/cuda/libcudart.so.12",
    "NCCL_BUFFSIZE": "1",
    "NCCL_CUMEM_ENABLE": "0",
    "NCCL_P2P_DISABLE": "1",
    "NCCL_SOCKET_IFNAME": "bond0",
    "PIP_INDEX_URL": "https://download.pytorch.org/whl/cu130",
    "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments=True",
    "TORCH_CUDA_ARCH_LIST": "sm_90",
    "VLLM_ATTENTION_BACKEND": "FLASH_ATTN",
    "VLLM_USE_TRITON": "1",
    "http_proxy": "proxy:3128",
}


def machines() -> Iterator[Snapshot]:
    """Yield the machines."""
    yield _worn()
    yield _container()
    yield _without_driver()
    yield healthy(gpus=(gpu(0), gpu(1, name="NVIDIA H100 PCIe")))


def _host(**changes: object) -> Host:
    known = healthy().host
    assert known is not None
    return replace(known, **changes)  # type: ignore[arg-type]


def _worn() -> Snapshot:
    """Return a machine of two sockets with worn GPUs, wrong settings and full disks."""
    worn = gpu(
        0,
        error="GPU is lost",
        memory_used=100 << 30,
        throttle=("hw_slowdown",),
        power_limit=350.0,
        persistence=False,
        compute_mode="Exclusive_Process",
        mig=True,
        performance_state=0,
        utilization=90,
        link_generation=3,
        link_width=8,
        fabric_cluster="11111111-2222-3333-4444-555555555555",
    )
    chipset = (PciBridge("0000:00:1c.0", "0x8086", link_width_max=8),)
    return healthy(
        host=_host(numa_nodes=2, tegra="R36.3.0"),
        driver=driver(
            start=CudaStart(100),
            device_nodes={"/dev/nvidia0": False},
            xids=(Xid("0000:17:00", 79),),
            messages=("RmInitAdapter failed",),
        ),
        gpus=(worn, gpu(1), gpu(2, name="NVIDIA H100 PCIe")),
        pci=(pci(0, driver="nouveau", link_width=8, bridges=chipset), pci(1)),
        resources=resources(
            place("build", "/mnt/c/vllm", filesystem="9p", disk=Disk("C:", "host share")),
            place("temporary", "/tmp", executable=False, free=0),
            place("cache of Triton", "/root/.triton/cache", writable=False),
            nofile_hard=1024,
        ),
        containers=Containers(
            {"docker": "/snap/bin/docker"}, docker_snap=True, docker_error="daemon.json: not JSON"
        ),
        environment=_VARIABLES,
        topology=Topology(interfaces=("eth0", "lo")),
    )


def _container() -> Snapshot:
    """Return a container that was started without its GPUs."""
    return bare(
        host=_host(container="docker"),
        environment={"NVIDIA_VISIBLE_DEVICES": "void"},
    )


def _without_driver() -> Snapshot:
    """Return a machine whose GPUs are on the bus alone, with docker of the snap store."""
    none = driver(kernel_module=None, nvml=None, cuda=None, start=None, device_nodes={})
    return healthy(
        driver=none,
        gpus=(),
        containers=Containers({"docker": "/snap/bin/docker"}, docker_snap=True),
    )
