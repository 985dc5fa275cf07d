"""How the weights come from where they lie: reading ahead, and whether a download has room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.knowledge import launch as knowledge

if TYPE_CHECKING:
    from dsv4_doctor.launch.machine import Machine
    from dsv4_doctor.launch.parameters import Command

_GIB = 1 << 30
_FLAG = "--safetensors-load-strategy"
# Where reading a file in order, ahead of its use, is faster than by pages.
_SLOW = frozenset({"network", "host share"})
# What vLLM reads ahead by itself.
_BY_ITSELF = frozenset({"nfs", "nfs4", "lustre"})
# Part of the free memory that a checkpoint may take, as vLLM has it.
_SHARE = 0.9


def reading(command: Command, machine: Machine, weights: float) -> None:
    """Add that the weights are read ahead, where that helps and the release does not by itself.

    Args:
        command: Takes the parameter.
        machine: Where the weights lie, and how much memory the host has.
        weights: Bytes of the checkpoint.
    """
    place = machine.storage
    if place is None or place.disk is None or place.disk.kind not in _SLOW:
        return
    release = knowledge.version(command.release)
    if release < knowledge.version(knowledge.read_ahead("asked").value):
        command.omit(_FLAG, "read-ahead-new", filesystem=place.filesystem)
        return
    if machine.host_memory is None or weights > _SHARE * machine.host_memory:
        command.omit(_FLAG, "read-ahead-memory", filesystem=place.filesystem)
        return
    automatic = release >= knowledge.version(knowledge.read_ahead("automatic").value)
    if place.filesystem in _BY_ITSELF and automatic:
        command.omit(_FLAG, "read-ahead-default", filesystem=place.filesystem)
        return
    command.add(_FLAG, "prefetch", "read-ahead", filesystem=place.filesystem)


def room(machine: Machine, weights: float, *, there: bool) -> str:
    """Say that a download has no room, empty when it has or nothing is to be downloaded.

    Args:
        machine: Where downloads go.
        weights: Bytes of the checkpoint.
        there: Whether it is there already.
    """
    place = machine.storage
    if there or place is None or place.free is None or place.free >= weights:
        return ""
    return (
        f"{place.free / _GIB:.0f} GiB are free in {place.path}: the checkpoint of"
        f" {weights / _GIB:.0f} GiB has no room there; HF_HOME names another place"
    )
