"""GPU errors in the kernel's log, where an ordinary user may read it."""

from __future__ import annotations

import ctypes
import re
from collections import Counter

from dsv4_doctor.facts.driver import Xid

# Actions of syslog(2).
_READ_ALL = 3
_SIZE_BUFFER = 10
_LIMIT = 32 << 20

_XID = re.compile(r"NVRM: Xid \((?:PCI:)?([0-9a-fA-F:.]{4,16})[^)]*\): (\d{1,4})\b")
# Complaints of the driver whose cause is known; what they mean stands in cuda_errors.json.
MESSAGES = (
    "requires use of the NVIDIA open kernel modules",
    "Cannot initialize GSP firmware RM",
    "RmInitAdapter failed",
    "This PCI I/O region assigned to your NVIDIA device is invalid",
)


def read() -> str | None:
    """Return the kernel's log, ``None`` when this user may not read it."""
    try:
        klogctl = ctypes.CDLL(None).klogctl
    except (OSError, AttributeError):
        return None
    size = klogctl(_SIZE_BUFFER, None, 0)
    if size <= 0:
        return None
    buffer = ctypes.create_string_buffer(min(size, _LIMIT))
    length = klogctl(_READ_ALL, buffer, len(buffer))
    return buffer.raw[:length].decode("utf-8", "replace") if length >= 0 else None


def parse_xids(text: str) -> tuple[Xid, ...]:
    """Return the errors of GPUs in a kernel log, each kind once, by address and number."""
    counts = Counter((pci.lower(), int(code)) for pci, code in _XID.findall(text))
    return tuple(Xid(pci, code, count) for (pci, code), count in sorted(counts.items()))


def parse_messages(text: str) -> tuple[str, ...]:
    """Return the known complaints of the driver that stand in a kernel log."""
    told = "\n".join(line for line in text.splitlines() if "NVRM: " in line)
    return tuple(each for each in MESSAGES if each in told)
