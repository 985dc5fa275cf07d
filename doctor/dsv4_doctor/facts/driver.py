"""The NVIDIA driver, as facts."""

from __future__ import annotations

from dsv4_doctor.lazy_dataclass import dataclass, field


@dataclass(frozen=True)
class CudaLibrary:
    """One ``libcuda.so.1`` that the loader could take.

    Attributes:
        path: As the loader finds it.
        real: The file behind it.
        version: The driver's version in the name of that file, ``None`` for another name.
        found_by: ``LD_LIBRARY_PATH``, ``ld.so.cache`` or ``default directory``.
        size: Of the file.
    """

    path: str
    real: str
    version: str | None
    found_by: str
    size: int | None = None


@dataclass(frozen=True)
class CudaStart:
    """What the CUDA driver API answered in a child process.

    Attributes:
        code: Result of ``cuInit``, 0 for success, ``None`` when the child gave no answer.
        devices: What ``cuDeviceGetCount`` counted after a successful start.
        error: Why there is no answer.
    """

    code: int | None
    devices: int | None = None
    error: str | None = None


@dataclass(frozen=True)
class Fabric:
    """NVSwitches, and the service without which their GPUs do not start.

    Attributes:
        switches: How many NVSwitches the kernel driver or the PCI bus shows.
        manager: Path of ``nv-fabricmanager``, ``None`` when it is not installed here.
        version: What the manager says that it is.
        running: ``None`` where the processes of the machine cannot be seen, as in a container.
    """

    switches: int
    manager: str | None = None
    version: str | None = None
    running: bool | None = None


@dataclass(frozen=True)
class Xid:
    """One error of a GPU in the kernel's log.

    Attributes:
        pci: Address of the GPU as the log has it.
        code: NVIDIA's number of the error.
        count: How often it stands there.
    """

    pci: str
    code: int
    count: int = 1


@dataclass(frozen=True)
class Driver:
    """The NVIDIA kernel driver as its own interfaces describe it.

    Attributes:
        kernel_module: Version in ``/proc/driver/nvidia/version``, ``None`` when not loaded.
        flavour: ``open`` or ``proprietary`` kernel module.
        nvml: Version that NVML reports.
        cuda: Newest CUDA version of the driver, such as ``13.0``.
        nvml_error: Why NVML gave nothing: its own text.
        parameters: Selected module parameters.
        nvml_library: Version in the file name of the ``libnvidia-ml.so.1`` that the loader takes.
        libcuda: Every ``libcuda.so.1``, the one that the loader takes first.
        libcuda_link: Path of a ``libcuda.so`` that a linker finds for ``-lcuda`` beside those.
        start: What CUDA itself says, ``None`` where there is no GPU to ask for.
        modules: Loaded kernel modules that matter, such as ``nvidia``, ``nouveau``.
        device_nodes: The driver's device files that this process may open, by path.
        fabric: ``None`` without an NVSwitch.
        imex_channels: Channels of the IMEX service that are there, ``None`` without its class.
        xids: Errors in the kernel's log, ``None`` when it may not be read.
        messages: What the driver complains of in that log, of the complaints that are known.
        module_files: Files of the kernel module for the kernel that runs; looked for only when
            none is loaded.
    """

    kernel_module: str | None
    flavour: str | None
    nvml: str | None
    cuda: str | None
    nvml_error: str | None
    parameters: dict[str, str] = field(default_factory=dict)
    nvml_library: str | None = None
    libcuda: tuple[CudaLibrary, ...] = ()
    libcuda_link: str | None = None
    start: CudaStart | None = None
    modules: tuple[str, ...] = ()
    device_nodes: dict[str, bool] = field(default_factory=dict)
    fabric: Fabric | None = None
    imex_channels: int | None = None
    xids: tuple[Xid, ...] | None = None
    messages: tuple[str, ...] = ()
    module_files: tuple[str, ...] = ()
