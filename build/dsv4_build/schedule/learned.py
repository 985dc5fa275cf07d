"""What this machine has learned of the cost of units; it wins over what was measured elsewhere."""

from __future__ import annotations

import json
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsv4_build.cache import locked
from dsv4_build.schedule.costs import Cost
from dsv4_build.schedule.curve import Curve

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SCHEMA = "dsv4-doctor/learned-costs/1"

# Two runs of one unit on one machine differ by a few percent of memory.
SPREAD = 0.04


@dataclass(frozen=True)
class Record:
    """One unit as it was compiled here.

    Attributes:
        seconds: CPU time.
        peak: Bytes.
    """

    seconds: float
    peak: int
    curve: Curve

    def to_json(self) -> dict[str, Any]:
        """Return the record as it is written."""
        seconds = round(self.seconds, 1)
        return {"seconds": seconds, "peak": self.peak, "curve": self.curve.to_json()}


@dataclass(frozen=True)
class Learned:
    """Costs learned for one set of architectures and one compiler."""

    units: Mapping[str, Record]

    def cost(self, name: str, family: str) -> Cost | None:
        """Return what a unit cost here, ``None`` when it was never compiled here."""
        record = self.units.get(name)
        if record is None:
            return None
        return Cost(record.seconds, record.peak, SPREAD, record.curve, family, "learned")


def place(cache: Path, tree: str, archs: Sequence[str], compiler: str) -> Path:
    """Return the file that holds what was learned.

    Args:
        tree: What is compiled, such as ``vllm``: names of units are those of one kind of tree.
        compiler: nvcc's version.
    """
    named = "-".join([tree, *archs, f"nvcc{compiler}"])
    return cache / "costs" / f"{re.sub(r'[^A-Za-z0-9._-]', '_', named)}.json"


def load(path: Path) -> Learned:
    """Read what was learned; nothing when there is no file, or none that can be understood."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["schema"] != SCHEMA:
            return Learned({})
        return Learned({name: _record(each) for name, each in data["units"].items()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        # Costs only make a build faster: a broken file must not stop one.
        return Learned({})


def _record(data: Mapping[str, Any]) -> Record:
    seconds, peak = float(data["seconds"]), int(data["peak"])
    if not (0 < seconds < 1e6 and 0 < peak < 1 << 50):
        msg = "no time or memory that a compiler can take"
        raise ValueError(msg)
    return Record(seconds, peak, Curve.from_json(data["curve"]))


def add(path: Path, new: Mapping[str, Record]) -> None:
    """Add records to the file; the newest of a unit wins.

    Raises:
        BuildError: The file cannot be locked.
        OSError: It cannot be written.
    """
    if not new:
        return
    with locked(path.with_name(f".{path.name}.lock"), on_wait=lambda: None):
        units = {**load(path).units, **new}
        write(path, units)


def write(path: Path, units: Mapping[str, Record]) -> None:
    """Write records whole or not at all.

    Raises:
        OSError: It cannot be written.
    """
    content = {"schema": SCHEMA, "units": {name: units[name].to_json() for name in sorted(units)}}
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(content, file)
            file.write("\n")
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
