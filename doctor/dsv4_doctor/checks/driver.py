"""The NVIDIA driver: there, of one version, new enough for the CUDA that will run on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks import selection, severity
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.knowledge import load
from dsv4_doctor.report import Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.facts.driver import Driver
    from dsv4_doctor.report import Status

PROC = "/proc/driver/nvidia/version"


def _read_from(driver: Driver) -> tuple[Evidence, ...]:
    rows = (
        (driver.kernel_module, PROC),
        (driver.nvml, "NVML, nvmlSystemGetDriverVersion"),
        (driver.cuda and f"CUDA {driver.cuda}", "NVML, nvmlSystemGetCudaDriverVersion"),
        (driver.nvml_error, "NVML"),
        (driver.nvml_library, "file name of libnvidia-ml.so.1"),
    )
    return tuple(Evidence(what, where) for what, where in rows if what)


@check(
    "driver.nvidia.present",
    "NVIDIA driver",
    reads=("driver", "host"),
    reports=("NVIDIA/nvidia-container-toolkit#48",),
    fix="Install or load the driver, reboot after an update, or start the container with its GPUs.",
)
def present(context: Context) -> Iterator[Finding]:
    """Whether the kernel driver is loaded and answers.

    Building needs no driver, so its absence is a failure only for serving. What NVML says when it
    does not answer tells the cause: a container without GPUs or that lost them, an update without
    a reboot, a kernel without a module.
    """
    driver = context.need("driver", context.snapshot.driver)
    status, title = _presence(context, driver)
    bad = status in {"fail", "warn"}
    yield Finding(
        "driver.nvidia.present",
        status,
        title,
        found=driver.nvml or driver.kernel_module or "none",
        expected="a loaded driver that answers",
        evidence=(
            *(_read_from(driver) or (Evidence("not there", PROC),)),
            *(Evidence("its module", path) for path in (driver.module_files if bad else ())),
        ),
        remedy=Remedy(_remedy(context, driver)) if bad else None,
    )


def _presence(context: Context, driver: Driver) -> tuple[Status, str]:
    if driver.nvml is not None:
        # Inside a container the file in /proc can be absent while the driver answers.
        flavour = f", {driver.flavour} kernel module" if driver.flavour else ""
        return "pass", f"driver {driver.nvml}{flavour}"
    if driver.kernel_module is not None:
        return "fail", (
            f"driver {driver.kernel_module} is loaded but NVML does not answer:"
            f" {driver.nvml_error or 'it gives no reason'}"
        )
    host = context.snapshot.host
    if host is not None and host.wsl and driver.device_nodes:
        # The driver is that of Windows: there is no kernel module to look for.
        return "unknown", f"WSL2 has its GPU, but NVML does not answer: {driver.nvml_error or ''}"
    status = severity.missing_for_serving(context.target)
    if driver.nvml_library is not None and not _contained(context) and status != "skip":
        return status, (
            f"the libraries of driver {driver.nvml_library} are installed, but its kernel module"
            " is not loaded"
        )
    title = "no NVIDIA driver" if _is_absent(driver) else f"the driver fails: {driver.nvml_error}"
    return status, title + (": none is needed to build" if status == "skip" else "")


def _is_absent(driver: Driver) -> bool:
    """Whether NVML is not there or says that no driver is; any other answer comes from one."""
    error = (driver.nvml_error or "").lower()
    return not error or any(each in error for each in ("not found", "not loaded", "cannot open"))


def _contained(context: Context) -> bool:
    host = context.snapshot.host
    return host is not None and host.container is not None


def _remedy(context: Context, driver: Driver) -> str:
    inside = _contained(context)
    if driver.kernel_module is None and driver.nvml_library is not None and not inside:
        return _load(context, driver)
    # Imported here: the driver of most machines answers.
    from dsv4_doctor.knowledge.cuda_errors import nvml_complaint  # noqa: PLC0415

    known = nvml_complaint(driver.nvml_error or "", container=inside)
    if known is not None and (driver.kernel_module is not None or not _is_absent(driver)):
        return known.remedy
    if inside:
        return "start the container with its GPUs, and install the driver on its machine"
    return "install the driver, or reboot after an update; start a container with its GPUs"


def _load(context: Context, driver: Driver) -> str:
    host = context.snapshot.host
    kernel = host.kernel if host is not None else "that runs"
    if not driver.module_files:
        return (
            f"build its module for kernel {kernel}: install the kernel's headers and run dkms"
            " autoinstall, or install the package of the module for this kernel; then modprobe"
            " nvidia"
        )
    if host is not None and host.secure_boot:
        return (
            "Secure Boot lets only signed modules load: enrol the key that signs it (mokutil"
            " --import) and reboot, or switch Secure Boot off; then modprobe nvidia"
        )
    return "load it (modprobe nvidia), and see with dmesg why the kernel does not"


@check(
    "driver.log.complaint",
    "the driver in the kernel's log",
    reads=("driver",),
    reports=(
        "NVIDIA/open-gpu-kernel-modules#862",
        "NVIDIA/open-gpu-kernel-modules#789",
        "NVIDIA/gpu-operator#492",
    ),
    fix="Do what the complaint says: another kernel module, firmware settings, a reboot.",
)
def complaint(context: Context) -> Iterator[Finding]:
    """Whether the driver says in the kernel's log why it did not start a GPU.

    The GPU is then missing for every program, and nothing but that log tells the reason. Where it
    may not be read nothing is said.
    """
    driver = context.snapshot.driver
    if driver is None or not driver.messages or not context.target.serves:
        return
    from dsv4_doctor.knowledge.cuda_errors import log_complaints  # noqa: PLC0415

    known = next((each for each in log_complaints() if each.says in driver.messages), None)
    if known is None:
        return
    yield Finding(
        "driver.log.complaint",
        "warn",
        known.title,
        found="; ".join(driver.messages),
        expected="no complaint of the driver since the machine started",
        evidence=tuple(Evidence(each, "dmesg, lines of NVRM") for each in driver.messages),
        source=(known.place.source(f"NVRM: {known.says}"),),
        remedy=Remedy(known.remedy),
    )


@check(
    "driver.nvidia.coherence",
    "one driver version",
    reads=("driver",),
    reports=(
        "oddmario/NVIDIA-Ubuntu-Driver-Guide#4",
        "tinygrad/open-gpu-kernel-modules#47",
    ),
    fix="Reboot after an update of the driver, or install the library of the module's version.",
)
def coherent(context: Context) -> Iterator[Finding]:
    """Whether the loaded kernel module and the user-space library are of one version.

    They differ between an update of the packages and the next reboot, and CUDA then refuses
    to start. NVML refuses, too, so the library's version is taken from its file name where NVML
    does not tell it.
    """
    driver = context.need("driver", context.snapshot.driver)
    library = driver.nvml or driver.nvml_library
    if driver.kernel_module is None or library is None:
        return
    good = driver.kernel_module == library
    yield Finding(
        "driver.nvidia.coherence",
        "pass" if good else "fail",
        "kernel module and library are of one version"
        if good
        else f"kernel module {driver.kernel_module}, library {library}",
        found=f"{driver.kernel_module} / {library}",
        expected="equal",
        evidence=_read_from(driver),
        remedy=None
        if good
        else Remedy(
            "reboot, or unload and load the kernel module again; where the module was built"
            f" by hand, install the libraries of {driver.kernel_module}"
        ),
    )


@check(
    "driver.cuda.version",
    "driver for this CUDA",
    reads=("driver", "python"),
    reports=("vllm-project/vllm#1772", "modelscope/FunASR#2973"),
    fix="Update the driver, or install a torch that is built with an older CUDA.",
)
def new_enough(context: Context) -> Iterator[Finding]:
    """Whether the driver runs binaries of the CUDA major version that torch brings.

    This is the floor of minor-version compatibility: it covers machine code, not PTX.
    """
    if not context.target.serves:
        return
    driver = context.need("driver", context.snapshot.driver)
    if driver.nvml is None and driver.kernel_module is None:
        return
    python = context.need("python", context.snapshot.python)
    installed = python.torch.cuda if python.torch is not None else None
    wheel = context.release.torch_cuda
    cuda = installed or (wheel.value if wheel is not None else None)
    if cuda is None:
        yield _no_cuda(context)
        return
    major = selection.version(cuda).major
    floor = next((each for each in load.driver_floors() if each.cuda_major == major), None)
    version = driver.nvml or driver.kernel_module or ""
    if floor is None:
        return
    good = selection.version(version) >= selection.version(floor.driver)
    yield Finding(
        "driver.cuda.version",
        "pass" if good else "fail",
        f"driver {version} {'runs' if good else 'is too old for'} CUDA {major}.x",
        found=version,
        expected=f">= {floor.driver} for CUDA {major}.x",
        evidence=_read_from(driver),
        source=(
            floor.place.source(f"driver >= {floor.driver} for CUDA {major}.x"),
            *(
                (wheel.source(f"torch {context.release.torch.value} is built with CUDA {cuda}"),)
                if wheel is not None
                else ()
            ),
        ),
        remedy=None
        if good
        else Remedy(
            f"update the driver to branch {floor.driver} or newer, or take a torch built with an"
            " older CUDA; a data-centre GPU can also run it with NVIDIA's cuda-compat package"
        ),
    )


def _no_cuda(context: Context) -> Finding:
    torch = context.release.torch
    return Finding(
        "driver.cuda.version",
        "unknown",
        f"which CUDA torch {torch.value} is built with is not known, and none is installed",
        source=(torch.source(f"torch == {torch.value}"),),
    )
