"""Containers: whether an engine hands GPUs on, and what a container asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks import selection, severity
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.facts.containers import Containers
from dsv4_doctor.knowledge import machine
from dsv4_doctor.report import Command, Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator


_DAEMON = "/etc/docker/daemon.json"
_ENGINES = ("docker", "podman", "nerdctl")
_HANDS_ON = ("nvidia-ctk", "nvidia-container-runtime", "nvidia-container-cli")
_RESTART = Command(argv=("systemctl", "restart", "docker"), root=True)


def inside(context: Context) -> bool:
    """Whether the facts are those of a container."""
    host = context.snapshot.host
    return host is not None and host.container is not None


def _has_gpus(context: Context) -> bool:
    return bool(context.snapshot.gpus or context.snapshot.pci)


def engine_of(containers: Containers) -> str | None:
    """Return the first engine that runs containers, ``None`` when there is none."""
    return next((name for name in _ENGINES if name in containers.programs), None)


@check(
    "container.engine.toolkit",
    "NVIDIA container toolkit",
    reads=("containers", "gpus", "host", "pci"),
    reports=("neuralmagic/nm-vllm#404",),
    fix="Install nvidia-container-toolkit and run nvidia-ctk runtime configure.",
)
def toolkit(context: Context) -> Iterator[Finding]:
    """Whether the container engine of a machine with GPUs can hand them to a container.

    Without NVIDIA's container toolkit ``docker run --gpus all`` ends with "could not select device
    driver". CDI specifications do the same for podman, and for docker from release 25 on.
    """
    containers = context.snapshot.containers or Containers()
    engine = engine_of(containers)
    if engine is None or not _has_gpus(context) or inside(context) or not context.target.serves:
        return
    tools = [name for name in _HANDS_ON if name in containers.programs]
    good = bool(tools or containers.cdi_specs or containers.docker_runtimes)
    yield Finding(
        "container.engine.toolkit",
        "pass" if good else "warn",
        f"{engine} can hand GPUs to containers"
        if good
        else f"{engine} is here, but nothing hands GPUs to its containers",
        found=", ".join((*tools, *containers.cdi_specs)) or "no NVIDIA container toolkit",
        expected="nvidia-container-toolkit, or CDI specifications",
        evidence=(
            Evidence(containers.programs[engine], "PATH"),
            Evidence(", ".join(tools) or "none", f"{', '.join(_HANDS_ON)} on PATH"),
            Evidence(", ".join(containers.cdi_specs) or "none", "/etc/cdi, /run/cdi"),
        ),
        remedy=None
        if good
        else Remedy(
            "install nvidia-container-toolkit from NVIDIA's repository, then tell the engine",
            (
                Command(
                    argv=("nvidia-ctk", "runtime", "configure", f"--runtime={engine}"), root=True
                ),
                _RESTART,
            ),
        ),
    )


@check(
    "container.docker.snap",
    "docker as a snap",
    reads=("containers", "gpus", "pci"),
    fix="Install docker from its own repository.",
)
def snap(context: Context) -> Iterator[Finding]:
    """Whether docker is the snap package.

    Its sandbox sees neither NVIDIA's hook nor the driver's libraries of the machine.
    """
    containers = context.snapshot.containers or Containers()
    if not containers.docker_snap or not _has_gpus(context) or not context.target.serves:
        return
    path = containers.programs.get("docker", "docker")
    yield Finding(
        "container.docker.snap",
        "warn",
        "docker is the snap package, which cannot hand GPUs to containers as usual",
        found=path,
        expected="docker of the distribution or of docker.com",
        evidence=(Evidence(path, "PATH"),),
        remedy=Remedy(
            "install docker-ce of docker.com, or docker.io of the distribution, instead",
            (Command(argv=("snap", "remove", "docker"), root=True),),
        ),
    )


@check(
    "container.docker.cdi",
    "CDI in docker",
    reads=("containers",),
    reports=("containers/ramalama#940",),
    fix="Switch the feature cdi on in daemon.json, or update docker.",
)
def cdi(context: Context) -> Iterator[Finding]:
    """Whether docker takes the device descriptions that are there.

    ``--device nvidia.com/gpu=all`` needs CDI, which the daemon has only when it is told, in
    releases before 28.2: "could not select device driver cdi".
    """
    containers = context.snapshot.containers or Containers()
    if not containers.cdi_specs or "docker" not in containers.programs:
        return
    floor = machine.values()["docker_cdi"]
    version = containers.docker_version
    off = containers.docker_cdi is False or (
        containers.docker_cdi is None
        and version is not None
        and selection.version(version) < selection.version(floor.value)
    )
    if not off or not context.target.serves:
        return
    yield Finding(
        "container.docker.cdi",
        "warn",
        f"docker {version or ''} does not take CDI devices: the feature is not on".replace(
            "  ", " "
        ),
        found=f"features.cdi {'false' if containers.docker_cdi is False else 'not set'}",
        expected=f"on, as it is by itself from docker {floor.value} on",
        evidence=(
            Evidence(", ".join(containers.cdi_specs), "CDI specifications"),
            Evidence(version or "not asked", "docker --version"),
            Evidence(
                "false" if containers.docker_cdi is False else "not set", f"{_DAEMON}, features.cdi"
            ),
        ),
        source=(floor.source("CDI is on by itself"),),
        remedy=Remedy(
            'switch it on with "features": {"cdi": true} in daemon.json, or update docker',
            (
                Command(
                    argv=(
                        "nvidia-ctk",
                        "runtime",
                        "configure",
                        "--runtime=docker",
                        "--cdi.enabled",
                    ),
                    root=True,
                ),
                _RESTART,
            ),
        ),
    )


@check(
    "container.docker.configuration",
    "configuration of docker",
    reads=("containers",),
    fix="Correct daemon.json.",
)
def configuration(context: Context) -> Iterator[Finding]:
    """Whether docker's ``daemon.json`` can be read.

    With a fault in it the daemon does not start.
    """
    containers = context.snapshot.containers or Containers()
    error = containers.docker_error
    if error is None or "docker" not in containers.programs:
        return
    yield Finding(
        "container.docker.configuration",
        "warn",
        f"docker's configuration cannot be read: {error}",
        found=error,
        expected="a JSON object",
        evidence=(Evidence(error, _DAEMON),),
        remedy=Remedy("correct the file: dockerd --validate --config-file names the place"),
    )


@check(
    "container.devices.visible",
    "GPUs of this container",
    reads=("environment", "gpus", "host"),
    fix="Start the container with its GPUs and the capability compute.",
)
def visible(context: Context) -> Iterator[Finding]:
    """Whether the container asks for GPUs, and for the driver's compute libraries.

    NVIDIA_VISIBLE_DEVICES=void gives none; NVIDIA_DRIVER_CAPABILITIES without ``compute`` leaves
    libcuda out, while nvidia-smi works.
    """
    environ = context.snapshot.environment or {}
    if not inside(context) or not context.target.serves:
        return
    devices = environ.get("NVIDIA_VISIBLE_DEVICES")
    abilities = environ.get("NVIDIA_DRIVER_CAPABILITIES")
    granted = set((abilities or "").replace(" ", "").split(","))
    if devices in {"void", "none", ""} and not context.snapshot.gpus:
        what = f"NVIDIA_VISIBLE_DEVICES={devices}: the container gets no GPU"
    elif abilities and not granted & {"all", "compute"}:
        what = f"NVIDIA_DRIVER_CAPABILITIES={abilities}: the container gets no libcuda"
    else:
        return
    yield Finding(
        "container.devices.visible",
        severity.missing_for_serving(context.target),
        what,
        found=what.partition(":")[0],
        expected="NVIDIA_VISIBLE_DEVICES=all, NVIDIA_DRIVER_CAPABILITIES with compute and utility",
        evidence=(Evidence(what.partition(":")[0], "environment"),),
        remedy=Remedy(
            "start the container with its GPUs: --gpus all, or --device nvidia.com/gpu=all, and"
            " NVIDIA_DRIVER_CAPABILITIES=compute,utility"
        ),
    )
