"""What one text tells of a machine: only what stands there, nothing filled in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class ToldGpu:
    """One GPU of a text.

    Attributes:
        index: As nvidia-smi counts.
        values: Further fields of :class:`~dsv4_doctor.facts.gpu.Gpu` that the text tells.
        shortened: Whether the name was cut to fit a table.
    """

    index: int
    values: Mapping[str, Any]
    shortened: bool = False

    @property
    def name(self) -> str:
        """The product name, empty when it is not told."""
        return str(self.values.get("name", ""))

    def may_be(self, other: ToldGpu) -> bool:
        """Whether nothing speaks against both being the same GPU."""
        for key in ("pci", "memory", "uuid"):
            mine, theirs = self.values.get(key), other.values.get(key)
            if mine is not None and theirs is not None and mine != theirs:
                return False
        if not self.name or not other.name:
            return True
        if self.shortened or other.shortened:
            return self.name.startswith(other.name) or other.name.startswith(self.name)
        return self.name == other.name


@dataclass(frozen=True)
class Told:
    """What one document tells.

    Attributes:
        kind: What it is, for a reader: ``collect_env text``, ``nvidia-smi -q``, ….
        first: Its first line, from 1.
        last: Its last line.
        host: Fields of :class:`~dsv4_doctor.facts.host.Host`.
        driver: Fields of :class:`~dsv4_doctor.facts.driver.Driver`.
        gpus: The GPUs, ``None`` when none is told.
        no_gpus: Why ``gpus`` is ``None`` or may lack some.
        topology: Fields of :class:`~dsv4_doctor.facts.topology.Topology`.
        python: Version of Python.
        torch: Fields of :class:`~dsv4_doctor.facts.python.TorchBuild`.
        packages: Versions by normalised name.
        nvcc: Version of the nvcc on PATH.
        gcc: Version of the gcc on PATH.
        tools: Versions of build tools by name.
        environment: Variables by name, ``None`` when the document does not list any.
        foreign: See :attr:`dsv4_doctor.snapshot.Snapshot.foreign`.
    """

    kind: str
    first: int
    last: int
    host: Mapping[str, Any] = field(default_factory=dict)
    driver: Mapping[str, Any] = field(default_factory=dict)
    gpus: tuple[ToldGpu, ...] | None = None
    no_gpus: str = ""
    topology: Mapping[str, Any] = field(default_factory=dict)
    python: str | None = None
    torch: Mapping[str, Any] = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)
    nvcc: str | None = None
    gcc: str | None = None
    tools: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] | None = None
    foreign: str = ""
