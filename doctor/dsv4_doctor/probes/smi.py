"""What nvidia-smi says, for where NVML cannot be loaded into this process.

Another interpreter's architecture, a sandbox, or a directory that only nvidia-smi knows can keep
the library from the doctor. Its XML is read: the table changes its words from driver to driver.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dsv4_doctor.facts.gpu import Gpu
from dsv4_doctor.probes import programs
from dsv4_doctor.probes.shared import Shared
from dsv4_doctor.process import ProcessError, run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsv4_doctor.ingest.told import Told

# By name on PATH, and where WSL2 has it.
PROGRAMS: tuple[str, ...] = ("nvidia-smi", "/usr/lib/wsl/lib/nvidia-smi")

_REQUIRED = ("compute_capability", "memory", "bar1", "pci")


def gpus() -> tuple[Gpu, ...]:
    """Return the GPUs that nvidia-smi lists; none where it is not there or does not answer."""
    told = _answer.get()
    return tuple(_gpu(each.index, each.values) for each in (told.gpus if told else None) or ())


def driver() -> Mapping[str, Any]:
    """Return the fields ``nvml`` and ``cuda`` of the driver as far as nvidia-smi tells them."""
    told = _answer.get()
    return told.driver if told is not None else {}


def _gpu(index: int, values: Mapping[str, Any]) -> Gpu:
    # Imported here: only where NVML is out of reach.
    from dsv4_doctor.knowledge.gpu_archs import arch_named  # noqa: PLC0415

    arch = arch_named(str(values.get("name", "")))
    told = {
        "name": f"GPU {index}",
        **dict.fromkeys(_REQUIRED),
        "compute_capability": f"{arch.major}.{arch.minor}" if arch is not None else None,
        **values,
    }
    return Gpu(index=index, **told)


def _ask() -> Told | None:
    program = next((found for name in PROGRAMS if (found := programs.which(name))), None)
    if program is None:
        return None
    from dsv4_doctor.ingest import smi_facts, smi_log  # noqa: PLC0415

    try:
        done = run([program, "-q", "-x"])
    except ProcessError:
        return None
    told = smi_facts.from_log(smi_log.read_xml(done.stdout), "nvidia-smi -q -x", 1, 1)
    return told if done.ok else None


_answer: Shared[Told | None] = Shared(_ask)
