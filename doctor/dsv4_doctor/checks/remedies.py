"""Remedies that several checks give, written once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.knowledge import load
from dsv4_doctor.report import Command, Remedy

if TYPE_CHECKING:
    from dsv4_doctor.facts.host import Host
    from dsv4_doctor.facts.python import PythonEnvironment

_DEBIAN = frozenset({"debian", "ubuntu", "linuxmint", "pop"})
_REDHAT = frozenset({"rhel", "centos", "rocky", "almalinux", "ol", "fedora", "amzn"})


def install_toolkit(release: str) -> Remedy:
    """Return how to get a CUDA toolkit of this release."""
    text = (
        f"install the CUDA {release} toolkit (NVIDIA's package is"
        f" cuda-toolkit-{release.replace('.', '-')})"
    )
    if release != load.project().assembled_cuda.value:
        return Remedy(text)
    return Remedy(
        f"{text}, or assemble one from PyPI's wheels, without root",
        (Command(argv=("dsv4-doctor", "toolchain")),),
    )


def use_toolkit(root: str) -> Remedy:
    """Return how to make one installed toolkit the one that everything picks."""
    return Remedy(
        f"use {root} everywhere: CUDA_HOME for torch, PATH for CMake",
        (Command(env={"CUDA_HOME": root, "PATH": f"{root}/bin:$PATH"}, safe=True),),
    )


def install_package(host: Host | None, *, debian: str, redhat: str) -> tuple[Command, ...]:
    """Return the package manager's command on this distribution; none where it is not known."""
    name = host.distribution if host is not None else ""
    if name in _DEBIAN:
        return (Command(argv=("apt-get", "install", "-y", debian), root=True),)
    if name in _REDHAT:
        return (Command(argv=("dnf", "install", "-y", redhat), root=True),)
    return ()


def pip_install(executable: str, *requirements: str) -> Command:
    """Return the command that installs requirements into one Python environment."""
    return Command(argv=(executable, "-m", "pip", "install", *requirements))


def pip_install_tool(python: PythonEnvironment, name: str, requirement: str) -> Command:
    """Return the command that installs a tool without dependencies where it is not yet.

    In a virtual environment that is safe: it adds one distribution, and uninstalling takes it
    back. The interpreter of the system belongs to the system.
    """
    pip = (python.executable, "-m", "pip")
    return Command(
        argv=(*pip, "install", "--no-deps", requirement),
        safe=python.virtual,
        undo=(*pip, "uninstall", "-y", name),
    )
