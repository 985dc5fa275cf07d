"""The table that ``nvidia-smi`` prints without arguments, with the banner of any driver.

Up to R595 the banner says ``Driver Version`` and ``CUDA Version``, from R610 on ``KMD Version`` and
``CUDA UMD Version``. Older tables have other widths; the columns are found by their bars.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dsv4_doctor.ingest import smi_facts, smi_gpu
from dsv4_doctor.ingest.told import Told, ToldGpu
from dsv4_doctor.probes.gpu import parse_bus_id

if TYPE_CHECKING:
    from collections.abc import Sequence

BANNER = re.compile(r"[ \t]*\|[ \t]*NVIDIA-SMI[ \t]+\S")
# The banner, or what stands under it where it was not pasted.
OPENING = re.compile(r"[ \t]*\|[ \t]*(?:NVIDIA-SMI[ \t]+\S|GPU[ \t]+Name[ \t])")
_DRIVER = re.compile(r"\b(?:Driver|KMD) Version:[ \t]*(\S+)")
_CUDA = re.compile(r"\bCUDA (?:UMD )?Version:[ \t]*(\S+)")
_FIRST = re.compile(
    r"[ \t]*(?P<index>\d{1,3})[ \t]+(?P<name>\S.*?)[ \t]+(?P<mode>On|Off|N/A|WDDM|TCC|MCDM)[ \t]*$"
)
_BUS = re.compile(r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]")
_MEMORY = re.compile(r"[ \t]*(\d{1,9})MiB[ \t]*/[ \t]*(\d{1,9})MiB[ \t]*$")
# The second row of a GPU: its power and its use.
_USAGE = re.compile(r"W[ \t]*/.*\d+%")
_CUT = "..."


def read(lines: Sequence[str], first: int) -> Told:
    """Read one table.

    Args:
        lines: From the banner to the last line with a bar.
        first: Number of the first line, from 1.
    """
    version, cuda = _DRIVER.search(lines[0]), _CUDA.search(lines[0])
    groups = _groups(lines)
    rows = [row for row in map(_row, groups) if row is not None]
    indices = [gpu.index for _, gpu in rows]
    described = sum(any(_USAGE.search("|".join(cells)) for cells in group) for group in groups)
    whole = bool(rows) and indices == list(range(len(rows))) and described == len(rows)
    modes = {mode for mode, _ in rows}
    return Told(
        kind="nvidia-smi table",
        first=first,
        last=first + len(lines) - 1,
        driver=smi_facts.driver(version[1] if version else None, cuda[1] if cuda else None),
        gpus=tuple(gpu for _, gpu in rows) or None,
        no_gpus="" if whole else "the nvidia-smi table is cut short",
        foreign="Windows" if modes & {"WDDM", "TCC", "MCDM"} else "",
    )


def _groups(lines: Sequence[str]) -> list[list[list[str]]]:
    """Return the cells between the bars.

    A GPU has two or three rows, up to the next bar: name and address, memory, MIG. One whose bar
    is missing may have lost rows, and is left out.
    """
    groups: list[list[list[str]]] = []
    group: list[list[str]] = []
    for line in map(str.strip, lines):
        if line.startswith("|") and not line.startswith("|="):
            group.append(line.strip("|").split("|"))
        else:
            groups.append(group)
            group = []
    return groups


def _row(group: Sequence[Sequence[str]]) -> tuple[str, ToldGpu] | None:
    head = _FIRST.match(group[0][0]) if group and len(group[0]) >= 3 else None
    bus = _BUS.search(group[0][1]) if head is not None else None
    if head is None or bus is None:
        return None
    values: dict[str, Any] = {"pci": parse_bus_id(bus[0])}
    cut = head["name"].endswith(_CUT)
    values["name"] = head["name"].removesuffix(_CUT).strip()
    cells = [cells for cells in group[1:] if len(cells) >= 3]
    memory = _MEMORY.match(cells[0][1]) if cells else None
    if memory is not None:
        values["memory_used"], values["memory"] = int(memory[1]) << 20, int(memory[2]) << 20
    switches = {
        "persistence": smi_gpu.switch(head["mode"]),
        "mig": smi_gpu.switch(cells[1][2]) if len(cells) > 1 else None,
    }
    values |= {name: value for name, value in switches.items() if value is not None}
    return head["mode"], ToldGpu(int(head["index"]), values, shortened=cut)
