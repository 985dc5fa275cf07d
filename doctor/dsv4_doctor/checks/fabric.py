"""NVSwitch machines: the fabric manager, the registration of the GPUs, channels of IMEX."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks import remedies
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.report import Command, Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.facts.driver import Driver, Fabric

_SERVICE = "nvidia-fabricmanager"
_WHERE = "nv-fabricmanager --version, processes of this machine"
_NO_CLUSTER = "00000000-0000-0000-0000-000000000000"


def own_version(driver: Driver) -> str | None:
    """Return the version of the kernel module, by itself or by NVML."""
    return driver.kernel_module or driver.nvml


@check(
    "driver.fabric.manager",
    "fabric manager",
    reads=("driver", "host"),
    reports=(
        "pytorch/pytorch#35710",
        "NVIDIA/nvtrust#55",
        "ollama/ollama#12136",
        "pytorch/ci-infra#541",
    ),
    fix="Install the fabric manager of exactly the driver's version, and start it.",
)
def manager(context: Context) -> Iterator[Finding]:
    """Whether a machine with NVSwitches runs the fabric manager of exactly the driver's version.

    Without it CUDA does not start on any GPU (error 802). It refuses a driver of another version,
    to the last digit. A container cannot see that of its machine, and needs none of its own.
    """
    if not context.target.serves:
        return
    driver = context.need("driver", context.snapshot.driver)
    fabric = driver.fabric
    if fabric is None:
        return
    wanted = own_version(driver)
    title, status = f"fabric manager {fabric.version or ''} runs".replace("  ", " "), "pass"
    if fabric.manager is None and fabric.running is False:
        title, status = "NVSwitches, but no fabric manager: CUDA ends with error 802", "fail"
    elif fabric.version is not None and wanted is not None and fabric.version != wanted:
        title, status = f"fabric manager {fabric.version}, driver {wanted}: not equal", "fail"
    elif fabric.running is False:
        title, status = "the fabric manager does not run: CUDA ends with error 802", "fail"
    elif fabric.running is None:
        title, status = "the machine's fabric manager cannot be seen from this container", "skip"
    yield Finding(
        "driver.fabric.manager",
        "pass" if status == "pass" else "skip" if status == "skip" else "fail",
        title,
        found=_found(fabric),
        expected=f"{_SERVICE} {wanted or 'of the version of the driver'}, running",
        evidence=(
            Evidence(f"{fabric.switches} NVSwitches", "/proc/driver/nvidia-nvswitch, PCI bus"),
            Evidence(_found(fabric), _WHERE),
        ),
        remedy=_remedy(context, wanted) if status == "fail" else None,
    )


def _found(fabric: Fabric) -> str:
    running = {True: "running", False: "not running", None: "not to be seen"}[fabric.running]
    return f"{fabric.version or fabric.manager or 'not installed'}, {running}"


def _remedy(context: Context, wanted: str | None) -> Remedy:
    branch = (wanted or "").partition(".")[0]
    package = f"{_SERVICE}-{branch}"
    return Remedy(
        f"install {_SERVICE} {wanted or 'of the version of the driver'}, not only of its branch,"
        " and start it",
        (
            *(
                remedies.install_package(
                    context.snapshot.host,
                    debian=f"{package}={wanted}-1",
                    redhat=f"{_SERVICE}-{wanted}",
                )
                if wanted
                else ()
            ),
            Command(argv=("systemctl", "enable", "--now", _SERVICE), root=True),
        ),
    )


@check(
    "driver.imex.channels",
    "channels of IMEX",
    reads=("driver", "gpus"),
    reports=("pytorch/ci-infra#541",),
    fix="Make channel 0 with nvidia-modprobe, and start nvidia-imex.",
)
def channels(context: Context) -> Iterator[Finding]:
    """Whether GPUs of a multi-node NVLink domain have a channel of the IMEX service.

    Without ``/dev/nvidia-caps-imex-channels/channel0`` NCCL cannot share memory between nodes,
    and newer releases fail at the first collective.
    """
    driver = context.snapshot.driver
    gpus = context.snapshot.gpus or ()
    domain = [gpu for gpu in gpus if gpu.fabric_cluster not in {None, _NO_CLUSTER}]
    if driver is None or not domain or not context.target.serves:
        return
    count = driver.imex_channels or 0
    yield Finding(
        "driver.imex.channels",
        "pass" if count else "warn",
        f"{count} channels of IMEX"
        if count
        else "a multi-node NVLink domain without a channel of IMEX",
        found=str(count),
        expected="at least one file in /dev/nvidia-caps-imex-channels",
        evidence=(
            Evidence(f"cluster {domain[0].fabric_cluster}", f"NVML, GPU {domain[0].index}"),
            Evidence(str(count), "/dev/nvidia-caps-imex-channels"),
        ),
        remedy=None
        if count
        else Remedy(
            "make channel 0, and start nvidia-imex on every node of the domain",
            (Command(argv=("nvidia-modprobe", "-i", "0:1"), root=True),),
        ),
    )
