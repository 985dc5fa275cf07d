"""Checks of GPU memory, modes, links, peers and the way to the processor."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.doctor.checks.test_toolkit import findings
from tests.doctor.machines import gpu, healthy, pci

from dsv4_doctor.facts.gpu import Gpu
from dsv4_doctor.facts.pci import PciBridge
from dsv4_doctor.facts.topology import Peer, Topology
from dsv4_doctor.report import Finding
from dsv4_doctor.snapshot import Snapshot

GIB = 1 << 30


def serving(snapshot: Snapshot) -> dict[str, Finding]:
    return findings(snapshot, purpose="serve")


def status(snapshot: Snapshot, identifier: str) -> str | None:
    found = serving(snapshot).get(identifier)
    return found.status if found else None


@pytest.mark.parametrize(
    ("identifier", "changes", "expected"),
    [
        ("gpu.memory.errors", {}, "pass"),
        ("gpu.memory.errors", {"ecc_uncorrected": 1}, "fail"),
        ("gpu.memory.errors", {"remap_failed": True}, "fail"),
        ("gpu.memory.errors", {"remap_pending": True}, "warn"),
        ("gpu.memory.errors", {"retirement_pending": True}, "warn"),
        ("gpu.memory.errors", {"remapped_rows": 3}, "pass"),
        ("gpu.memory.errors", {"ecc_uncorrected": None, "remap_failed": None}, None),
        ("gpu.device.answers", {}, None),
        ("gpu.device.answers", {"error": "GPU is lost"}, "fail"),
        ("gpu.device.answers", {"recovery_action": "GPU Reset"}, "fail"),
        ("gpu.device.answers", {"recovery_action": None}, None),
        ("gpu.memory.free", {"memory_used": 2 * GIB}, None),
        ("gpu.memory.free", {"memory_used": 60 * GIB}, "warn"),
        ("gpu.memory.free", {"memory_used": None}, None),
        ("gpu.clock.throttle", {}, None),
        ("gpu.clock.throttle", {"throttle": ("hw_thermal_slowdown",)}, "warn"),
        ("gpu.power.limit", {"power_limit": 500.0}, "warn"),
        ("gpu.power.limit", {"power_limit": None}, None),
        ("gpu.mode.persistence", {"persistence": False}, "warn"),
        ("gpu.mode.persistence", {"persistence": None}, None),
        ("gpu.mode.persistence", {"persistence": False, "display": True}, None),
        ("gpu.mode.compute", {"compute_mode": "Exclusive_Process"}, "warn"),
        ("gpu.mode.compute", {"compute_mode": "Prohibited"}, "fail"),
        ("gpu.mode.compute", {}, None),
        ("gpu.mode.mig", {"mig": True}, "warn"),
        ("gpu.mode.mig", {}, None),
        ("gpu.nvlink.state", {}, "pass"),
        ("gpu.nvlink.state", {"nvlinks": (True, False)}, "warn"),
        ("gpu.nvlink.state", {"nvlinks": (False, False)}, None),
        ("gpu.nvlink.state", {"nvlinks": ()}, None),
    ],
)
def test_one_gpu(identifier: str, changes: dict[str, Any], expected: str | None) -> None:
    assert status(healthy(gpus=(gpu(0, **changes),)), identifier) == expected


def test_what_only_a_server_minds_is_not_said_of_a_machine_that_builds() -> None:
    bad = gpu(0, persistence=False, power_limit=100.0, compute_mode="Prohibited", mig=True)
    made = findings(healthy(gpus=(bad,)), purpose="build")
    assert not {"gpu.mode.persistence", "gpu.power.limit", "gpu.mode.compute"} & set(made)


def test_a_gpu_that_is_broken_for_good_is_not_to_be_reset() -> None:
    finding = serving(healthy(gpus=(gpu(0, remap_failed=True),)))["gpu.memory.errors"]
    assert finding.remedy is not None
    assert finding.remedy.commands == ()
    assert "replace" in finding.remedy.text


@pytest.mark.parametrize(
    ("width", "slot", "expected", "words"),
    [
        (16, 16, None, ""),
        (8, 16, "warn", "reseat"),
        (8, 8, "warn", "slot"),
        (None, None, None, ""),
    ],
)
def test_lanes(width: int | None, slot: int | None, expected: str | None, words: str) -> None:
    bridges = (PciBridge("0000:00:01.0", link_width_max=slot),)
    machine = healthy(pci=(pci(0, link_width=width, bridges=bridges),), gpus=(gpu(0),))
    assert status(machine, "pcie.link.width") == expected
    if expected:
        remedy = serving(machine)["pcie.link.width"].remedy
        assert remedy is not None
        assert words in remedy.text


def test_lanes_by_nvml_where_there_is_no_sysfs() -> None:
    machine = healthy(pci=(), gpus=(gpu(0, link_width=4),))
    assert status(machine, "pcie.link.width") == "warn"


@pytest.mark.parametrize(
    ("generation", "used", "state", "expected"),
    [(1, 0, 8, None), (1, 0, 0, None), (3, 95, 0, "warn"), (5, 95, 0, None), (1, 5, 8, None)],
)
def test_an_idle_gpu_may_lower_its_link(
    generation: int, used: int, state: int, expected: str | None
) -> None:
    busy = gpu(0, link_generation=generation, utilization=used, performance_state=state)
    assert status(healthy(gpus=(busy,)), "pcie.link.speed") == expected


def bridge(address: str, vendor: str, speed: str = "32.0 GT/s PCIe", width: int = 16) -> PciBridge:
    return PciBridge(address, vendor, link_speed_max=speed, link_width_max=width)


@pytest.mark.parametrize(
    ("bridges", "expected"),
    [
        ((), None),
        ((bridge("0000:00:01.0", "0x8086"),), None),
        ((bridge("0000:00:1c.4", "0x8086"),), "warn"),
        ((bridge("0000:00:01.1", "0x1022"),), None),
        ((bridge("0000:02:00.0", "0x1022"), bridge("0000:00:02.1", "0x1022")), "warn"),
        ((bridge("0000:02:00.0", "0x1000"), bridge("0000:00:02.1", "0x1022")), None),
        ((bridge("0000:02:00.0", "0x1000"), bridge("0000:00:02.1", "0x8086", width=4)), "warn"),
        (
            (bridge("0000:02:00.0", "0x1000"), bridge("0000:00:02.1", "0x8086", "16.0 GT/s PCIe")),
            "warn",
        ),
    ],
)
def test_the_way_to_the_processor(bridges: tuple[PciBridge, ...], expected: str | None) -> None:
    assert status(healthy(pci=(pci(0, bridges=bridges),)), "pcie.path.bandwidth") == expected


@pytest.mark.parametrize(
    ("nodes", "node", "expected"),
    [(1, -1, None), (2, -1, "warn"), (2, 0, None), (None, -1, None)],
)
def test_the_node_of_memory(nodes: int | None, node: int, expected: str | None) -> None:
    machine = healthy(pci=(pci(0, numa_node=node),))
    assert machine.host is not None
    sized = replace(machine, host=replace(machine.host, numa_nodes=nodes))
    assert status(sized, "pcie.numa.node") == expected


def pair(name: str = "NVIDIA RTX PRO 6000", brand: str = "NVIDIA RTX", **changes: Any) -> Snapshot:
    boards = tuple(
        gpu(each, "12.0", name, brand=brand, nvlinks=changes.get("nvlinks", ())) for each in (0, 1)
    )
    controllers = tuple(
        pci(each, iommu_domain=changes.get("domain"), bridges=changes.get("bridges", ()))
        for each in (0, 1)
    )
    topology = Topology(
        (Peer(0, 1, "NODE", changes.get("read", "OK")),), 4, virtual=changes.get("virtual", False)
    )
    return healthy(gpus=boards, pci=controllers, topology=topology)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"domain": "DMA"}, "warn"),
        ({"domain": "DMA-FQ"}, "warn"),
        ({"domain": "identity"}, None),
        ({"domain": None}, None),
        ({"domain": "DMA", "read": "Chipset not supported"}, None),
        ({"domain": "DMA", "nvlinks": (True,) * 4}, None),
        ({"domain": "DMA", "virtual": True}, None),
        ({"bridges": (PciBridge("0000:40:01.1", acs=("SrcValid", "ReqRedir")),)}, "warn"),
        ({"bridges": (PciBridge("0000:40:01.1", acs=("SrcValid",)),)}, None),
        ({"bridges": (PciBridge("0000:40:01.1", acs=None),)}, None),
    ],
)
def test_what_stands_between_two_gpus(changes: dict[str, Any], expected: str | None) -> None:
    assert status(pair(**changes), "gpu.peer.redirection") == expected


@pytest.mark.parametrize(
    ("name", "brand", "read", "access", "modified"),
    [
        ("NVIDIA H100 PCIe", "NVIDIA", "OK", "pass", None),
        ("NVIDIA H100 PCIe", "NVIDIA", "Topology not supported", "warn", None),
        ("NVIDIA GeForce RTX 5090", "GeForce", "Chipset not supported", None, None),
        ("NVIDIA GeForce RTX 5090", "GeForce", "OK", None, "warn"),
        ("NVIDIA H100 PCIe", "NVIDIA", None, None, None),
    ],
)
def test_peer_access(
    name: str, brand: str, read: str | None, access: str | None, modified: str | None
) -> None:
    machine = pair(name, brand, read=read)
    assert status(machine, "gpu.peer.access") == access
    assert status(machine, "gpu.peer.consumer") == modified


def test_a_single_gpu_has_no_peers() -> None:
    machine = healthy(gpus=(gpu(0),), topology=Topology())
    assert not {each for each in serving(machine) if each.startswith("gpu.peer.")}


def test_a_lost_gpu_names_itself() -> None:
    lost = Gpu(3, "GPU 3: lost", None, None, None, None, error="GPU is lost")
    finding = serving(healthy(gpus=(gpu(0), lost)))["gpu.device.answers"]
    assert "GPU 3" in finding.title


def test_gpus_of_several_kinds() -> None:
    mixed = healthy(gpus=(gpu(0), gpu(1, name="NVIDIA H100 PCIe")))
    assert status(mixed, "gpu.mode.alike") == "warn"
    chosen = replace(mixed, environment={"CUDA_VISIBLE_DEVICES": "0"})
    assert status(chosen, "gpu.mode.alike") is None
    assert status(healthy(), "gpu.mode.alike") is None
    nameless = healthy(gpus=(gpu(0, name="GPU 0"), gpu(1, name="GPU 1")))
    assert status(nameless, "gpu.mode.alike") is None
    lost = gpu(1, name="GPU 1: lost", error="GPU is lost")
    assert status(healthy(gpus=(gpu(0), lost)), "gpu.mode.alike") is None
