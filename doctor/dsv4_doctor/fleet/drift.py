"""What should be equal over a fleet, and which hosts differ."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from dsv4_doctor.checks.untold import View, if_told
from dsv4_doctor.fleet.model import Drift, Outliers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dsv4_doctor.fleet.model import Host
    from dsv4_doctor.snapshot import Snapshot

_MIB = 1 << 20

Facts = tuple[tuple[str, str], ...]


def facts(snapshot: Snapshot) -> Facts:
    """Return what of a machine is compared with its like; a fact that is not told is left out."""
    # "none" must not be said of what a pasted text does not list.
    told = View(snapshot).snapshot
    found = ((name, if_told(partial(read, told))) for name, read in _FACTS)
    return tuple((name, value) for name, value in found if value)


def _host(attribute: str) -> Callable[[Snapshot], str]:
    def read(snapshot: Snapshot) -> str:
        value = getattr(snapshot.host, attribute, None)
        return "" if value is None else str(value)

    return read


def _system(snapshot: Snapshot) -> str:
    host = snapshot.host
    return f"{host.distribution} {host.distribution_version}".strip() if host else ""


def _memory(snapshot: Snapshot) -> str:
    # What the firmware keeps differs by some megabytes between equal machines.
    memory = snapshot.host.memory if snapshot.host else None
    return f"{round(memory / (1 << 30))} GiB" if memory else ""


def _driver(snapshot: Snapshot) -> str:
    driver = snapshot.driver
    return (driver.nvml or driver.kernel_module or "none") if driver else ""


def _flavour(snapshot: Snapshot) -> str:
    return (snapshot.driver.flavour or "") if snapshot.driver else ""


def _gpus(snapshot: Snapshot) -> str:
    if snapshot.gpus is None:
        return ""
    counts = Counter(gpu.name for gpu in snapshot.gpus)
    return ", ".join(f"{count} x {name}" for name, count in sorted(counts.items())) or "none"


def _bar1(snapshot: Snapshot) -> str:
    sizes = {gpu.bar1 for gpu in snapshot.gpus or () if gpu.bar1 is not None}
    return ", ".join(f"{size // _MIB} MiB" for size in sorted(sizes))


def _vbios(snapshot: Snapshot) -> str:
    return ", ".join(sorted({gpu.vbios for gpu in snapshot.gpus or () if gpu.vbios}))


def _link_width(snapshot: Snapshot) -> str:
    widths = {gpu.link_width for gpu in snapshot.pci or () if gpu.link_width is not None}
    return ", ".join(f"x{width}" for width in sorted(widths))


def _toolkit(snapshot: Snapshot) -> str:
    if snapshot.toolkits is None:
        return ""
    chosen = {each.root: each for each in snapshot.toolkits.found}
    pick = chosen.get(snapshot.toolkits.picks.torch or "")
    return (pick.nvcc_version or pick.release or "not told") if pick else "none"


def _compiler(snapshot: Snapshot) -> str:
    used = snapshot.compilers.used if snapshot.compilers else None
    return f"{used.kind} {used.version}" if used else ""


def _package(name: str) -> Callable[[Snapshot], str]:
    def read(snapshot: Snapshot) -> str:
        if snapshot.python is None:
            return ""
        found = snapshot.python.distribution(name)
        return found.version if found else "none"

    return read


def _torch(snapshot: Snapshot) -> str:
    if snapshot.python is None:
        return ""
    return snapshot.python.torch.version if snapshot.python.torch else "none"


def _python(snapshot: Snapshot) -> str:
    return snapshot.python.version if snapshot.python else ""


# In the order in which a picture shows them.
_FACTS: tuple[tuple[str, Callable[[Snapshot], str]], ...] = (
    ("GPUs", _gpus),
    ("driver", _driver),
    ("driver flavour", _flavour),
    ("BAR1", _bar1),
    ("VBIOS", _vbios),
    ("PCIe link width", _link_width),
    ("CUDA toolkit", _toolkit),
    ("host compiler", _compiler),
    ("Python", _python),
    ("torch", _torch),
    ("triton", _package("triton")),
    ("vLLM", _package("vllm")),
    ("system", _system),
    ("kernel", _host("kernel")),
    ("C library", _host("glibc")),
    ("CPUs", _host("cpus")),
    ("memory", _memory),
)


def compare(hosts: Sequence[Host], baseline: Facts = ()) -> tuple[Drift, ...]:
    """Return every fact, with the hosts that differ from the baseline, else from most hosts.

    Where two values are equally common, the smaller text is taken for the common one, so that the
    same fleet always gives the same picture.
    """
    wanted = dict(baseline)
    values: dict[str, dict[str, list[str]]] = {}
    for host in hosts:
        for name, value in host.facts:
            values.setdefault(name, {}).setdefault(value, []).append(host.name)
    order = {name: at for at, (name, _) in enumerate(_FACTS)}
    return tuple(
        _drift(name, values[name], wanted.get(name))
        for name in sorted(values, key=lambda name: order.get(name, len(order)))
    )


def _drift(name: str, values: dict[str, list[str]], wanted: str | None) -> Drift:
    common = min(values, key=lambda value: (-len(values[value]), value))
    expected = common if wanted is None else wanted
    others = (value for value in values if value != expected)
    return Drift(
        fact=name,
        expected=expected,
        count=len(values.get(expected, ())),
        total=sum(map(len, values.values())),
        outliers=tuple(
            Outliers(value, tuple(sorted(values[value])))
            for value in sorted(others, key=lambda value: (-len(values[value]), value))
        ),
    )


def differing(drift: Iterable[Drift]) -> tuple[Drift, ...]:
    """Return the facts in which any host differs."""
    return tuple(each for each in drift if each.outliers)
