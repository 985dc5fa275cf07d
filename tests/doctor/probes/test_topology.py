"""Ways between GPUs, the IOMMU, and adapters for RDMA."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.probes.fakes import GPU_IS_LOST, FakeGpu, FakeNvml

from dsv4_doctor.facts.topology import Peer, Topology
from dsv4_doctor.probes import topology

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PAIR: dict[str, tuple[int, ...]] = {
    "nvmlDeviceGetTopologyCommonAncestor": (40,),
    "nvmlDeviceGetP2PStatus": (1,),
}


def test_every_pair_of_gpus(use_nvml: Callable[[Any], None], tmp_path: Path) -> None:
    use_nvml(FakeNvml(*(FakeGpu(answers=PAIR) for _ in range(3))))
    reason = "Chipset not supported"
    assert topology.survey(tmp_path).peers == tuple(
        Peer(first, second, "NODE", reason, reason, reason)
        for first, second in ((0, 1), (0, 2), (1, 2))
    )


def test_a_lost_gpu_has_no_pairs(use_nvml: Callable[[Any], None], tmp_path: Path) -> None:
    lost = FakeGpu(codes={"handle": GPU_IS_LOST})
    use_nvml(FakeNvml(FakeGpu(answers=PAIR), lost, FakeGpu(answers=PAIR)))
    assert [(each.first, each.second) for each in topology.survey(tmp_path).peers] == [(0, 2)]


def test_what_nvml_does_not_tell(use_nvml: Callable[[Any], None], tmp_path: Path) -> None:
    use_nvml(FakeNvml(FakeGpu(), FakeGpu()))
    assert topology.survey(tmp_path).peers == (Peer(0, 1, None, None, None, None),)


def test_a_machine_without_anything(no_nvml: None, tmp_path: Path) -> None:
    assert topology.survey(tmp_path) == Topology()


def test_kernel_and_adapters(no_nvml: None, tmp_path: Path) -> None:
    for name in ("sys/kernel/iommu_groups/0", "sys/kernel/iommu_groups/1", "proc"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("mlx5_1", "mlx5_0"):
        (tmp_path / "sys/class/infiniband" / name).mkdir(parents=True)
    (tmp_path / "sys/class/net/eth0").mkdir(parents=True)
    (tmp_path / "proc/cmdline").write_text("BOOT_IMAGE=/vmlinuz root=/dev/sda1 iommu=pt quiet\n")
    (tmp_path / "proc/cpuinfo").write_text("processor : 0\nflags\t\t: fpu vme hypervisor\n")
    assert topology.survey(tmp_path) == Topology(
        (), 2, {"iommu": "pt"}, virtual=True, rdma=("mlx5_0", "mlx5_1"), interfaces=("eth0",)
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("amd_iommu=off nokaslr", {"amd_iommu": "off", "nokaslr": ""}),
        (
            "intel_iommu=on,sm_on iommu.passthrough=1",
            {"intel_iommu": "on,sm_on", "iommu.passthrough": "1"},
        ),
        ("pci=realloc root=/dev/iommu=pt", {"pci": "realloc"}),
        ("", {}),
    ],
)
def test_parameters(text: str, expected: dict[str, str]) -> None:
    assert topology.parse_command_line(text) == expected


@given(st.text())
def test_any_command_line(text: str) -> None:
    topology.parse_command_line(text)
