"""The parts of a CUDA toolkit on PyPI, pinned by version and hash in a data file."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, TypeAlias

from dsv4_doctor.arch import Arch
from dsv4_doctor.errors import UsageError
from dsv4_doctor.facts.toolkit import HostCompilerLimits
from dsv4_doctor.knowledge.places import Place

Group: TypeAlias = Literal["compile", "full"]

# Goes up when a tree made from the same parts is laid out in another way.
LAYOUT = 1


@dataclass(frozen=True)
class Part:
    """One wheel.

    Attributes:
        name: Name on PyPI.
        group: The smallest group that needs it.
        sha256: Digest of its wheel, by machine.
    """

    name: str
    version: str
    group: Group
    sha256: dict[str, str]

    def requirement(self, machine: str) -> str:
        """Return the line for a requirements file, with the digest of this machine's wheel."""
        return f"{self.name}=={self.version} --hash=sha256:{self.sha256[machine]}"


@dataclass(frozen=True)
class Pins:
    """One CUDA release made of wheels.

    Attributes:
        cuda: ``major.minor``.
        release: Release of ``cuda-toolkit`` that names these parts.
        nvcc: Version of nvcc, crt and nvvm.
        root: Directory that the wheels unpack to.
        archs: What nvcc compiles for.
        host_compiler: What its own header accepts.
        place: Where the choice of parts was read.
    """

    cuda: str
    release: str
    nvcc: str
    root: str
    archs: tuple[Arch, ...]
    host_compiler: HostCompilerLimits
    parts: tuple[Part, ...]
    place: Place


@dataclass(frozen=True)
class Selection:
    """A group of the parts, for one machine.

    Attributes:
        machine: As ``uname -m``.

    Raises:
        UsageError: There are no wheels for this machine.
    """

    pins: Pins
    group: Group
    machine: str

    def __post_init__(self) -> None:
        known = sorted(self.pins.parts[0].sha256)
        if self.machine not in known:
            what = f"no CUDA {self.pins.cuda} wheels are known for {self.machine}"
            msg = f"{what}; known: {', '.join(known)}"
            raise UsageError(msg, hint="use --toolchain system")

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts; ``full`` has those of ``compile`` too."""
        return tuple(part for part in self.pins.parts if self.group in {"full", part.group})

    @property
    def requirements(self) -> str:
        """A requirements file for pip, with hashes."""
        lines = sorted(part.requirement(self.machine) for part in self.parts)
        return "".join(f"{line}\n" for line in lines)

    @property
    def tree_name(self) -> str:
        """The name of the assembled directory: it changes with every pin."""
        content = f"{LAYOUT}\n{self.requirements}"
        digest = hashlib.sha256(content.encode()).hexdigest()[:12]
        return f"cuda-{self.pins.release}-{self.group}-{self.machine}-{digest}"


@cache
def cuda_13_0() -> Pins:
    """Return the pins of CUDA 13.0, which vLLM's default wheels are built with."""
    data = json.loads(files(__package__).joinpath("cuda-13.0.json").read_text(encoding="utf-8"))
    return read_pins(data)


def read_pins(data: dict[str, Any]) -> Pins:
    """Read pins from parsed JSON."""
    limits = data["host_compiler"]
    return Pins(
        cuda=data["cuda"],
        release=data["release"],
        nvcc=data["nvcc"],
        root=data["root"],
        archs=tuple(Arch.parse(each) for each in data["archs"]["values"]),
        host_compiler=HostCompilerLimits(
            gcc_max=limits["gcc_max"],
            clang_below=limits["clang_below"],
            path=limits["at"]["file"],
            line=limits["at"]["line"],
        ),
        parts=tuple(
            Part(each["name"], each["version"], each["group"], dict(each["sha256"]))
            for each in data["parts"]
        ),
        place=Place(**data["at"]),
    )
