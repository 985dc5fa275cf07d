"""What stands between the driver and a program: another driver, rights of device files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks import severity
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.report import Command, Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

_OTHERS = {"nouveau": "nouveau", "nova_core": "nova", "vfio_pci": "vfio-pci"}


@check(
    "driver.kernel.bound",
    "kernel driver of the GPUs",
    reads=("driver", "pci"),
    fix="Blacklist nouveau and reboot; give a GPU back from vfio-pci.",
)
def bound(context: Context) -> Iterator[Finding]:
    """Whether another kernel driver than NVIDIA's holds a GPU.

    nouveau, where it is loaded first, keeps NVIDIA's driver out until it is blacklisted and the
    machine rebooted. vfio-pci holds GPUs that are meant for virtual machines.
    """
    driver = context.snapshot.driver
    held = {
        each.pci: each.driver
        for each in context.snapshot.pci or ()
        if each.driver not in {None, "nvidia"}
    }
    if driver is None:
        return
    if not held and not ("nouveau" in driver.modules and driver.kernel_module is None):
        return
    names = sorted({name for name in held.values() if name}) or ["nouveau"]
    yield Finding(
        "driver.kernel.bound",
        severity.missing_for_serving(context.target),
        f"{' and '.join(names)} {'hold' if len(names) > 1 else 'holds'} the GPU, not NVIDIA's"
        " driver",
        found=", ".join(f"{pci}: {name}" for pci, name in held.items()) or "nouveau is loaded",
        expected="nvidia",
        evidence=(
            *(
                Evidence(str(name), f"/sys/bus/pci/devices/{pci}/driver")
                for pci, name in held.items()
            ),
            Evidence(", ".join(driver.modules) or "none of these", "/proc/modules"),
        ),
        remedy=_give_back(names),
    )


def _give_back(names: list[str]) -> Remedy:
    if "nouveau" in names or "nova" in names:
        return Remedy(
            'install the driver with its blacklist of nouveau ("blacklist nouveau" and'
            ' "options nouveau modeset=0" in /etc/modprobe.d), rebuild the initramfs, and reboot'
        )
    return Remedy("take the GPU's ids out of the options of vfio-pci, and reboot")


@check(
    "driver.device.access",
    "device files of the driver",
    reads=("driver",),
    fix="Load nvidia_uvm, join the group of the files, or start the container with its GPUs.",
)
def access(context: Context) -> Iterator[Finding]:
    """Whether this user may open the driver's device files, and the one that CUDA needs is there.

    nvidia-smi works without ``/dev/nvidia-uvm``, CUDA ends with error 999 or 100. Where CUDA has
    started nothing is missing: nvidia-modprobe makes the file at the first start.
    """
    driver = context.snapshot.driver
    if driver is None or driver.kernel_module is None or not driver.device_nodes:
        return
    started = driver.start is not None and driver.start.code == 0
    if started or not context.target.serves:
        return
    closed = [path for path, open_ in driver.device_nodes.items() if not open_]
    missing = "/dev/nvidia-uvm" not in driver.device_nodes
    if not closed and not missing:
        return
    title = (
        f"this user may not open {closed[0]}"
        if closed
        else "/dev/nvidia-uvm is missing: CUDA cannot start"
    )
    yield Finding(
        "driver.device.access",
        severity.serving_fault(context.target),
        title,
        found=", ".join(closed) or "no /dev/nvidia-uvm",
        expected="device files of the driver that this user may read and write",
        evidence=tuple(
            Evidence("may be opened" if open_ else "may not be opened", path)
            for path, open_ in driver.device_nodes.items()
        ),
        remedy=Remedy(
            "add this user to the group of the files (ls -l /dev/nvidia*), or start the container"
            " with its GPUs"
        )
        if closed
        else Remedy(
            "load the module and make its file",
            (Command(argv=("nvidia-modprobe", "-u", "-c=0"), root=True),),
        ),
    )
