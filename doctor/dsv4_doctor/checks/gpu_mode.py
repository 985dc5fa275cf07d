"""Settings of the GPUs: clocks, power, who may use them, and for what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks import severity
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.knowledge import machine
from dsv4_doctor.report import Command, Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dsv4_doctor.facts.gpu import Gpu

_WORDS = {
    "hw_slowdown": "slowed down by hardware",
    "hw_thermal_slowdown": "slowed down by heat",
    "hw_power_brake_slowdown": "slowed down by the power supply's brake",
    "sw_thermal_slowdown": "slowed down by heat",
}


def _named(gpus: Sequence[Gpu]) -> str:
    return ("GPU " if len(gpus) == 1 else "GPUs ") + ", ".join(str(gpu.index) for gpu in gpus)


@check(
    "gpu.clock.throttle",
    "clocks of the GPUs",
    reads=("gpus",),
    fix="Look at cooling and power supply.",
)
def throttle(context: Context) -> Iterator[Finding]:
    """Whether a GPU is slowed down by heat or by its power supply at this moment.

    An idle GPU runs slowly by itself, and so does one at its power limit: neither is counted.
    """
    slow = [gpu for gpu in context.snapshot.gpus or () if gpu.throttle]
    if not slow:
        return
    reasons = ", ".join(dict.fromkeys(_WORDS.get(each, each) for each in slow[0].throttle or ()))
    yield Finding(
        "gpu.clock.throttle",
        "warn",
        f"{_named(slow)}: {reasons}",
        found="; ".join(f"GPU {gpu.index}: {', '.join(gpu.throttle or ())}" for gpu in slow),
        expected="no slowdown by heat or power",
        evidence=tuple(
            Evidence(", ".join(gpu.throttle or ()), f"NVML clocks event reasons, GPU {gpu.index}")
            for gpu in slow
        ),
        remedy=Remedy("look at cooling, airflow, and the power cables and supplies of the machine"),
    )


@check(
    "gpu.power.limit",
    "power limit of the GPUs",
    reads=("gpus",),
    fix="Set the default of the board with nvidia-smi -pl.",
)
def power(context: Context) -> Iterator[Finding]:
    """Whether a GPU may take less power than the board came with.

    Somebody set it, and it slows every kernel; where it is meant, ignore this finding.
    """
    low = [
        gpu
        for gpu in context.snapshot.gpus or ()
        if gpu.power_limit and gpu.power_limit_default and gpu.power_limit < gpu.power_limit_default
    ]
    if not low or not context.target.serves:
        return
    first = low[0]
    yield Finding(
        "gpu.power.limit",
        "warn",
        f"{_named(low)}: limited to {first.power_limit:.0f} W of {first.power_limit_default:.0f} W",
        found=", ".join(f"GPU {gpu.index}: {gpu.power_limit:.0f} W" for gpu in low),
        expected=f"{first.power_limit_default:.0f} W, the default of the board",
        evidence=tuple(
            Evidence(f"{gpu.power_limit:.0f} W", f"NVML, GPU {gpu.index}") for gpu in low
        ),
        remedy=Remedy(
            "set the default again, unless the limit is meant",
            tuple(
                Command(
                    argv=(
                        "nvidia-smi",
                        "-i",
                        str(gpu.index),
                        "-pl",
                        f"{gpu.power_limit_default:.0f}",
                    ),
                    root=True,
                )
                for gpu in low
            ),
        ),
    )


@check(
    "gpu.mode.persistence",
    "persistence of the driver",
    reads=("gpus", "host"),
    fix="Start nvidia-persistenced.",
)
def persistence(context: Context) -> Iterator[Finding]:
    """Whether the driver stays initialised when nobody uses the GPU.

    Without it every first program waits seconds for each GPU, and settings such as a power limit
    are lost in between.
    """
    # A display keeps the driver loaded by itself.
    off = [g for g in context.snapshot.gpus or () if g.persistence is False and not g.display]
    host = context.snapshot.host
    if not off or not context.target.serves or (host is not None and host.wsl):
        return
    rule = machine.values()["gpu_persistence"]
    yield Finding(
        "gpu.mode.persistence",
        "warn",
        f"{_named(off)}: persistence is off, so the driver starts anew for every program",
        found="off",
        expected="on, by nvidia-persistenced",
        evidence=tuple(Evidence("off", f"NVML persistence mode, GPU {gpu.index}") for gpu in off),
        source=(rule.source(rule.value),),
        remedy=Remedy(
            "start the daemon that keeps it loaded",
            (Command(argv=("systemctl", "enable", "--now", "nvidia-persistenced"), root=True),),
        ),
    )


@check(
    "gpu.mode.compute",
    "compute mode of the GPUs",
    reads=("gpus",),
    fix="Set the mode to DEFAULT with nvidia-smi -c.",
)
def compute(context: Context) -> Iterator[Finding]:
    """Whether several processes may use a GPU.

    vLLM opens a GPU from its engine and from its workers; in an exclusive mode the second one
    gets "all CUDA-capable devices are busy or unavailable".
    """
    closed = [
        gpu for gpu in context.snapshot.gpus or () if gpu.compute_mode not in {None, "Default"}
    ]
    if not closed or not context.target.serves:
        return
    prohibited = any(gpu.compute_mode == "Prohibited" for gpu in closed)
    yield Finding(
        "gpu.mode.compute",
        severity.serving_fault(context.target) if prohibited else "warn",
        f"{_named(closed)}: compute mode {closed[0].compute_mode}",
        found=", ".join(f"GPU {gpu.index}: {gpu.compute_mode}" for gpu in closed),
        expected="Default",
        evidence=tuple(Evidence(str(gpu.compute_mode), f"NVML, GPU {gpu.index}") for gpu in closed),
        remedy=Remedy(
            "let several processes use it",
            (Command(argv=("nvidia-smi", "-c", "DEFAULT"), root=True),),
        ),
    )


@check(
    "gpu.mode.mig",
    "MIG",
    reads=("gpus",),
    fix="Switch MIG off, or start one server for each instance.",
)
def mig(context: Context) -> Iterator[Finding]:
    """Whether a GPU is divided into MIG instances.

    A process sees one instance, instances have no peer-to-peer access, and a model that needs
    several GPUs cannot be spread over them.
    """
    divided = [gpu for gpu in context.snapshot.gpus or () if gpu.mig]
    if not divided or not context.target.serves:
        return
    yield Finding(
        "gpu.mode.mig",
        "warn",
        f"{_named(divided)}: divided by MIG; a model cannot be spread over its instances",
        found="MIG on",
        expected="MIG off for a model that needs a whole GPU or several",
        evidence=tuple(Evidence("MIG on", f"NVML, GPU {gpu.index}") for gpu in divided),
        remedy=Remedy(
            "switch it off, or start one server for each instance",
            (Command(argv=("nvidia-smi", "-mig", "0"), root=True),),
        ),
    )


@check(
    "gpu.mode.alike",
    "GPUs of one kind",
    reads=("environment", "gpus"),
    fix="Choose GPUs of one kind with CUDA_VISIBLE_DEVICES.",
)
def alike(context: Context) -> Iterator[Finding]:
    """Whether all GPUs that a server would take are of one kind.

    Tensor parallelism gives each the same share: the smallest memory and the slowest GPU decide
    for all, and kernels are needed for every architecture. CUDA also counts the fastest first,
    nvidia-smi by address, so that numbers mean different GPUs.
    """
    gpus = context.snapshot.gpus or ()
    # A GPU that does not tell its name is called by its number.
    named = [gpu for gpu in gpus if gpu.error is None and gpu.name != f"GPU {gpu.index}"]
    kinds = list(dict.fromkeys(gpu.name for gpu in named))
    chosen = (context.snapshot.environment or {}).get("CUDA_VISIBLE_DEVICES")
    if len(kinds) < 2 or chosen or not context.target.serves:
        return
    yield Finding(
        "gpu.mode.alike",
        "warn",
        f"GPUs of {len(kinds)} kinds: {', '.join(kinds)}",
        found=", ".join(f"GPU {gpu.index}: {gpu.name}" for gpu in named),
        expected="one kind, or a choice in CUDA_VISIBLE_DEVICES",
        evidence=tuple(Evidence(gpu.name, f"NVML, GPU {gpu.index}") for gpu in named),
        remedy=Remedy(
            "name the GPUs of one kind in CUDA_VISIBLE_DEVICES, counted as nvidia-smi does",
            (Command(env={"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}),),
        ),
    )
