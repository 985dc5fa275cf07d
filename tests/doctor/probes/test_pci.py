"""GPUs on the PCI bus: base address registers, links, sizes that could be set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_doctor.facts.pci import PciRegion
from dsv4_doctor.probes import pci, pci_path

if TYPE_CHECKING:
    from pathlib import Path

MIB = 1 << 20
GIB = 1 << 30

# An H200: 64-bit prefetchable registers with their empty upper halves, then the expansion ROM.
H200 = """\
0x0000104002000000 0x0000104002ffffff 0x000000000014220c
0x0000000000000000 0x0000000000000000 0x0000000000000000
0x0000100000000000 0x0000103fffffffff 0x000000000014220c
0x0000000000000000 0x0000000000000000 0x0000000000000000
0x0000104000000000 0x0000104001ffffff 0x000000000014220c
0x0000000000000000 0x0000000000000000 0x0000000000000000
0x00000000c0000000 0x00000000c007ffff 0x0000000000046200
"""
# A consumer card with a small BAR1 in region 1, and I/O ports in region 5.
SMALL = """\
0x00000000fb000000 0x00000000fbffffff 0x0000000000040200
0x000000e000000000 0x000000e00fffffff 0x000000000014220c
0x0000000000000000 0x0000000000000000 0x0000000000000000
0x000000e010000000 0x000000e011ffffff 0x000000000014220c
0x0000000000000000 0x0000000000000000 0x0000000000000000
0x000000000000f000 0x000000000000f07f 0x0000000000040101
"""


def function(bus: Path, address: str, **attributes: str) -> Path:
    """Write one PCI function into a sysfs of our own."""
    directory = bus / "bus/pci/devices" / address
    directory.mkdir(parents=True)
    for name, value in {"vendor": "0x10de", "class": "0x030200", **attributes}.items():
        (directory / name).write_text(f"{value}\n")
    return directory


def test_regions_of_an_h200() -> None:
    regions = pci.parse_regions(H200)
    assert [region.size for region in regions] == [16 * MIB, 0, 256 * GIB, 0, 32 * MIB, 0]
    assert regions[2] == PciRegion(2, 0x100000000000, 256 * GIB, prefetchable=True, wide=True)


def test_kinds_of_regions() -> None:
    regions = pci.parse_regions(SMALL)
    assert [(region.prefetchable, region.wide) for region in regions] == [
        (False, False),
        (True, True),
        (False, False),
        (True, True),
        (False, False),
        (False, False),
    ]
    assert regions[5].size == 128


def test_a_region_without_an_address() -> None:
    (region,) = pci.parse_regions("0x0000000000000000 0x0000003fffffffff 0x000000002014220c\n")
    assert (region.start, region.size) == (0, 256 * GIB)


@given(st.text())
def test_any_text_as_resource(text: str) -> None:
    regions = pci.parse_regions(text)
    assert all(region.size >= 0 and 0 <= region.index < 6 for region in regions)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0000000000000001\n", (MIB,)),
        ("0x0000000000040100\n", (256 * MIB, 256 * GIB)),
        ("0\n", ()),
        ("none\n", None),
        ("", None),
    ],
)
def test_sizes_that_can_be_set(text: str, expected: tuple[int, ...] | None) -> None:
    assert pci.parse_sizes(text) == expected


@given(st.integers(min_value=0, max_value=(1 << 44) - 1))
def test_every_bit_is_a_size(bitmap: int) -> None:
    sizes = pci.parse_sizes(f"{bitmap:016x}")
    assert sizes is not None
    assert sum(sizes) == bitmap << 20


@given(st.text())
def test_any_text_as_sizes(text: str) -> None:
    pci.parse_sizes(text)


def test_a_gpu_with_all_attributes(tmp_path: Path) -> None:
    directory = function(
        tmp_path,
        "0000:17:00.0",
        device="0x2335",
        resource=H200,
        numa_node="-1",
        current_link_speed="32.0 GT/s PCIe",
        current_link_width="8",
        max_link_speed="32.0 GT/s PCIe",
        max_link_width="16",
        resource2_resize="0000000000040100",
    )
    (directory / "driver").symlink_to("../../../drivers/nvidia")
    (found,) = pci.survey(tmp_path)
    assert found.pci == "0000:17:00.0"
    assert (found.device_id, found.driver, found.numa_node) == ("0x2335", "nvidia", -1)
    assert (found.link_speed, found.link_speed_max) == ("32.0 GT/s PCIe", "32.0 GT/s PCIe")
    assert (found.link_width, found.link_width_max) == (8, 16)
    assert found.resizable_sizes == (256 * MIB, 256 * GIB)
    assert found.aperture is not None
    assert found.aperture.size == 256 * GIB


def test_a_gpu_that_tells_little(tmp_path: Path) -> None:
    function(tmp_path, "0000:01:00.0", current_link_speed="Unknown", current_link_width="255")
    (found,) = pci.survey(tmp_path)
    assert (found.regions, found.driver, found.numa_node) == ((), None, None)
    assert (found.link_speed, found.link_width, found.resizable_sizes) == (None, None, None)


def test_the_resize_attribute_is_that_of_the_aperture(tmp_path: Path) -> None:
    function(tmp_path, "0000:01:00.0", resource=SMALL, resource3_resize="0000000000000020")
    assert pci.survey(tmp_path)[0].resizable_sizes is None


def test_only_nvidias_display_controllers_count(tmp_path: Path) -> None:
    function(tmp_path, "0000:02:00.0", **{"class": "0x040300"})
    function(tmp_path, "0000:03:00.0", vendor="0x8086")
    function(tmp_path, "0000:04:00.0", **{"class": "0x068000"})
    function(tmp_path, "0000:06:00.0", **{"class": "0x030200"})
    function(tmp_path, "0000:05:00.0", **{"class": "0x030000"})
    assert [each.pci for each in pci.survey(tmp_path)] == ["0000:05:00.0", "0000:06:00.0"]


def test_a_machine_without_a_pci_bus(tmp_path: Path) -> None:
    assert pci.survey(tmp_path) == ()


def behind(root: Path, *addresses: str, **attributes: str) -> Path:
    """Write a GPU behind bridges, and link it to where the bus lists its functions."""
    above = root / "devices/pci0000:00" / "/".join(addresses[:-1])
    gpu = above / addresses[-1]
    gpu.mkdir(parents=True)
    for name, value in {"vendor": "0x10de", "class": "0x030200", **attributes}.items():
        (gpu / name).write_text(f"{value}\n")
    listed = root / "bus/pci/devices"
    listed.mkdir(parents=True, exist_ok=True)
    (listed / addresses[-1]).symlink_to(gpu)
    return gpu


def test_bridges_from_the_gpu_to_the_root_port(tmp_path: Path) -> None:
    gpu = behind(tmp_path, "0000:00:1c.0", "0000:01:00.0", "0000:02:00.0")
    (gpu.parent / "max_link_width").write_text("4\n")
    (gpu.parent / "vendor").write_text("0x1022\n")
    (found,) = pci.survey(tmp_path)
    assert [each.pci for each in found.bridges] == ["0000:01:00.0", "0000:00:1c.0"]
    assert (found.bridges[0].link_width_max, found.bridges[0].vendor_id) == (4, "0x1022")
    assert found.bridges[0].acs is None


def test_the_group_and_the_domain_of_the_iommu(tmp_path: Path) -> None:
    gpu = behind(tmp_path, "0000:02:00.0")
    group = tmp_path / "kernel/iommu_groups/17"
    group.mkdir(parents=True)
    (group / "type").write_text("DMA-FQ\n")
    (gpu / "iommu_group").symlink_to(group)
    (found,) = pci.survey(tmp_path)
    assert (found.iommu_group, found.iommu_domain) == ("17", "DMA-FQ")
    assert found.bridges == ()


def configuration(*capabilities: tuple[int, int, int]) -> bytes:
    """Return a configuration space with extended capabilities: where, which, and what follows."""
    data = bytearray(4096)
    for index, (at, kind, control) in enumerate(capabilities):
        following = capabilities[index + 1][0] if index + 1 < len(capabilities) else 0
        data[at : at + 4] = (kind | 1 << 16 | following << 20).to_bytes(4, "little")
        data[at + 6 : at + 8] = control.to_bytes(2, "little")
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (configuration((0x100, 0x01, 0), (0x148, 0x0D, 0x1D)), True),
        (configuration((0x100, 0x01, 0), (0x148, 0x0D, 0)), False),
        (configuration((0x100, 0x01, 0)), False),
        (bytes(64), None),
        (b"", None),
    ],
)
def test_access_control_services(data: bytes, expected: bool | None) -> None:
    controls = ("SrcValid", "ReqRedir", "CmpltRedir", "UpstreamFwd")
    wanted = None if expected is None else controls if expected else ()
    assert pci_path.parse_acs(data) == wanted


@given(st.binary(max_size=4096), st.binary(min_size=256, max_size=256))
def test_any_configuration_space_is_read(data: bytes, head: bytes) -> None:
    pci_path.parse_acs(data)
    pci_path.parse_acs(head + data)


def test_capabilities_in_a_circle_end() -> None:
    data = bytearray(configuration((0x100, 0x01, 0)))
    data[0x100:0x104] = (0x01 | 0x100 << 20).to_bytes(4, "little")
    assert pci_path.parse_acs(bytes(data)) == ()
