"""What ``nvidia-smi`` says when it cannot answer, and its versions (``nvidia-smi --version``)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dsv4_doctor.ingest import smi_facts
from dsv4_doctor.ingest.told import Told

if TYPE_CHECKING:
    from collections.abc import Sequence

FAILED = re.compile(
    r"NVIDIA-SMI has failed because .{0,200}|Failed to initialize NVML: .{1,200}"
    r"|NVIDIA-SMI couldn't find .{1,200}"
)
VERSIONS = re.compile(r"[ \t]*NVIDIA-SMI version[ \t]+:")
_LIBRARY = re.compile(r"[ \t]*NVML library version: (\d{3,4}\.\d{1,3}(?:\.\d{1,3})?)")
_VALUE = re.compile(
    r"[ \t]*(?:(?P<driver>(?:DRIVER|KMD) version)|(?P<cuda>CUDA(?: UMD)? version))[ \t]*: (.*)$",
    re.IGNORECASE,
)


def read_failure(lines: Sequence[str], first: int) -> Told:
    """Read a message that NVML did not answer, and the line after it."""
    message = FAILED.search(lines[0])
    library = _LIBRARY.match(lines[1]) if len(lines) > 1 else None
    driver = {"nvml": None, "nvml_error": message[0].strip() if message else lines[0].strip()}
    if library is not None:
        driver["nvml_library"] = library[1]
    return Told("nvidia-smi message", first, first + len(lines) - 1, driver=driver)


def read_versions(lines: Sequence[str], first: int) -> Told:
    """Read ``nvidia-smi --version``; under old names a new driver writes where to look instead."""
    driver: dict[str, str] = {}
    for match in filter(None, map(_VALUE.match, lines)):
        value = match[3].strip()
        driver |= smi_facts.driver(
            value if match["driver"] else None, value if match["cuda"] else None
        )
    return Told("nvidia-smi --version", first, first + len(lines) - 1, driver=driver)


def continues_versions(line: str) -> bool:
    """Whether a line belongs to the versions."""
    return bool(_VALUE.match(line) or VERSIONS.match(line) or "NVML version" in line)
