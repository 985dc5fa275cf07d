"""What runs containers on this machine, as facts."""

from __future__ import annotations

from dsv4_doctor.lazy_dataclass import dataclass, field


@dataclass(frozen=True)
class Containers:
    """Container engines, and how they hand GPUs to containers.

    Attributes:
        programs: Path of each engine and tool found: ``docker``, ``podman``, ``buildah``,
            ``nvidia-ctk``, ``nvidia-container-runtime``, ``nvidia-container-cli``.
        docker_snap: Whether docker is the snap package, which cannot run NVIDIA's hook.
        docker_version: Asked only where it decides whether the daemon knows CDI.
        docker_runtimes: Runtimes that the daemon's configuration names.
        docker_default_runtime: As the configuration says, empty when it does not.
        docker_cdi: The feature ``cdi`` in the configuration, ``None`` when it is not set.
        docker_error: Why the configuration could not be read.
        cdi_specs: Device descriptions for CDI that exist.
    """

    programs: dict[str, str] = field(default_factory=dict)
    docker_snap: bool = False
    docker_version: str | None = None
    docker_runtimes: tuple[str, ...] = ()
    docker_default_runtime: str = ""
    docker_cdi: bool | None = None
    docker_error: str | None = None
    cdi_specs: tuple[str, ...] = ()
