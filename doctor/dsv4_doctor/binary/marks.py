"""What a file is, by its first bytes, and what it can be, by its name."""

from __future__ import annotations

ELF = b"\x7fELF"
# Magic number and version of a container, see `fatbin`.
FATBIN = b"\x50\xed\x55\xba\x01\x00"
AR = b"!<arch>\n"
ZIP = b"PK\x03\x04"


def may_hold_code(name: str) -> bool:
    """Whether a file of this name can be an object, a library or a program, by its suffix."""
    base = name.rsplit("/", 1)[-1]
    known = base.endswith((".so", ".o", ".a", ".cubin", ".fatbin")) or ".so." in base
    return known or (base != "" and "." not in base)
