"""Environment variables of NCCL that were set for another machine or an older release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.knowledge import machine
from dsv4_doctor.report import Command, Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

_NO_CLUSTER = "00000000-0000-0000-0000-000000000000"
# Each takes registered memory in proportion, and NCCL chooses them by the topology.
_BUFFERS = (
    "NCCL_BUFFSIZE",
    "NCCL_LL_BUFFSIZE",
    "NCCL_LL128_BUFFSIZE",
    "NCCL_MAX_NCHANNELS",
    "NCCL_MIN_NCHANNELS",
    "NCCL_MAX_CTAS",
    "NCCL_MIN_CTAS",
)
# Switches that turn off what makes a machine with NVLink fast.
_SWITCHES = {
    "NCCL_P2P_DISABLE": "1",
    "NCCL_SHM_DISABLE": "1",
    "NCCL_NVLS_ENABLE": "0",
}


def _unset(*names: str) -> Remedy:
    return Remedy(
        "unset them, and set again only what a measurement on this machine asks for",
        (Command(unset=tuple(names)),),
    )


@check(
    "env.nccl.buffers",
    "buffers of NCCL",
    reads=("environment",),
    reports=("vllm-project/vllm#19613",),
    fix="Unset NCCL_BUFFSIZE and its like.",
)
def buffers(context: Context) -> Iterator[Finding]:
    """Whether sizes that NCCL chooses by itself are set by hand.

    A buffer is registered with the network adapter for every channel and peer: one that is too
    large ends with "cannot allocate memory" in the registration, not where it was set.
    """
    environ = context.snapshot.environment or {}
    named = [name for name in _BUFFERS if environ.get(name)]
    if not named or not context.target.serves:
        return
    shown = ", ".join(f"{name}={environ[name]}" for name in named)
    yield Finding(
        "env.nccl.buffers",
        "warn",
        f"{shown}: NCCL chooses this by itself",
        found=shown,
        expected="not set",
        evidence=tuple(Evidence(f"{name}={environ[name]}", "environment") for name in named),
        remedy=_unset(*named),
    )


@check(
    "env.nccl.cumem",
    "NCCL_CUMEM_ENABLE",
    reads=("environment", "gpus"),
    reports=("vllm-project/vime#103",),
    fix="Unset NCCL_CUMEM_ENABLE, or set it to 1.",
)
def cumem(context: Context) -> Iterator[Finding]:
    """Whether the allocator that NVLink between machines needs is switched off.

    Old releases of vLLM set NCCL_CUMEM_ENABLE=0 against a fault that NCCL mended in 2.22.3. On a
    multi-node NVLink domain it switches that NVLink off: NCCL says "MNNVL 0" and uses the network.
    """
    environ = context.snapshot.environment or {}
    if environ.get("NCCL_CUMEM_ENABLE") != "0" or not context.target.serves:
        return
    domain = [
        gpu for gpu in context.snapshot.gpus or () if gpu.fabric_cluster not in {None, _NO_CLUSTER}
    ]
    rule = machine.values()["nccl_cumem"]
    yield Finding(
        "env.nccl.cumem",
        "warn",
        "NCCL_CUMEM_ENABLE=0 switches NVLink between machines off (MNNVL 0)"
        if domain
        else "NCCL_CUMEM_ENABLE=0 is a remedy of old releases, and is not needed any more",
        found="NCCL_CUMEM_ENABLE=0",
        expected="not set",
        evidence=(
            Evidence("NCCL_CUMEM_ENABLE=0", "environment"),
            *(
                Evidence(f"cluster {gpu.fabric_cluster}", f"NVML, GPU {gpu.index}")
                for gpu in domain[:1]
            ),
        ),
        source=(rule.source(rule.value),),
        remedy=_unset("NCCL_CUMEM_ENABLE"),
    )


@check(
    "env.nccl.switches",
    "switches of NCCL",
    reads=("environment", "gpus"),
    fix="Unset NCCL_P2P_DISABLE and its like.",
)
def switches(context: Context) -> Iterator[Finding]:
    """Whether NVLink is there and switched off by a variable.

    They are remedies for machines without NVLink; where there is one, collectives go through host
    memory because of them.
    """
    environ = context.snapshot.environment or {}
    linked = any(any(gpu.nvlinks) for gpu in context.snapshot.gpus or ())
    named = [name for name, value in _SWITCHES.items() if environ.get(name) == value]
    if not named or not linked or not context.target.serves:
        return
    shown = ", ".join(f"{name}={environ[name]}" for name in named)
    yield Finding(
        "env.nccl.switches",
        "warn",
        f"{shown} on a machine with NVLink",
        found=shown,
        expected="not set where there is NVLink",
        evidence=tuple(Evidence(f"{name}={environ[name]}", "environment") for name in named),
        remedy=_unset(*named),
    )


@check(
    "env.nccl.interface",
    "network interface of NCCL",
    reads=("environment", "topology"),
    fix="Name an interface that exists, or unset it.",
)
def interface(context: Context) -> Iterator[Finding]:
    """Whether the network interface that NCCL or Gloo is told to take exists.

    A name that was right on another machine ends with "no socket interface found", or with a
    worker that waits for the others until it is killed.
    """
    environ = context.snapshot.environment or {}
    topology = context.snapshot.topology
    if topology is None or not topology.interfaces or not context.target.serves:
        return
    for name in ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"):
        value = environ.get(name, "")
        if not value or _matches(value, topology.interfaces):
            continue
        yield Finding(
            "env.nccl.interface",
            "fail",
            f"{name}={value} names no interface of this machine",
            found=f"{name}={value}",
            expected=", ".join(topology.interfaces),
            evidence=(
                Evidence(f"{name}={value}", "environment"),
                Evidence(", ".join(topology.interfaces), "/sys/class/net"),
            ),
            remedy=Remedy(
                f"name one of {', '.join(topology.interfaces)}, or unset it",
                (Command(argv=("unset", name)),),
            ),
        )


def _matches(value: str, interfaces: tuple[str, ...]) -> bool:
    """Whether an interface is left: ``=`` asks for whole names, ``^`` excludes, else prefixes."""
    exclude, rest = value.startswith("^"), value.removeprefix("^")
    whole, names = rest.startswith("="), rest.removeprefix("=").split(",")
    # A name may carry a port behind a colon.
    wanted = [each.strip().partition(":")[0] for each in names if each.strip()]
    hit = {
        each
        for each in interfaces
        if any(each == name if whole else each.startswith(name) for name in wanted)
    }
    return bool(set(interfaces) - hit) if exclude else bool(hit)
