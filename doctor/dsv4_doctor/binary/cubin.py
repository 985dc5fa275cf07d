"""For which GPU a cubin is, from its own header.

NVIDIA does not document where it stands. Calibrated against cubins that nvcc 13.0.88 compiled for
sm_75 to sm_121f, and against the headers of the fat binaries around the cubins in the wheels of
vLLM 0.7.2 (ABI version 7) and 0.24.0 (ABI version 8).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dsv4_doctor.arch import Arch
from dsv4_doctor.binary.source import BinaryError

if TYPE_CHECKING:
    from dsv4_doctor.binary.elf import Elf

_OLD_ABI = 7
_OLD_ARCH_SPECIFIC = 0x800
# An attribute of .nv.compat: format (one byte follows), number, value.
_ARCH_SPECIFIC = b"\x02\x09\x01"
_COMPATIBILITY = ".nv.compat"
# What compiled it notes its own command line. Only there stands that code is for a family.
_TOOL = ".note.nv.tkinfo"
_COMMAND = re.compile(rb"-arch[ =]sm_(\d{2,3})f\b")
_MAX_NOTE = 1 << 20


def read_arch(elf: Elf) -> Arch:
    """Return the architecture of a cubin.

    Raises:
        BinaryError: There is none that could be one, or the file is damaged.
    """
    old = elf.abi <= _OLD_ABI
    number = elf.flags & 0xFF if old else elf.flags >> 8 & 0xFF
    if number < 10:
        reason = f"architecture number {number} in a cubin's flags {elf.flags:#x}"
        raise BinaryError(elf.source.name, 48, reason)
    if old:
        return Arch(number, "a" if elf.flags & _OLD_ARCH_SPECIFIC else "")
    return Arch(number, _suffix(elf, number))


def _suffix(elf: Elf, number: int) -> str:
    family = False
    for name, section in elf.named(frozenset((_COMPATIBILITY, _TOOL))):
        if section.size > _MAX_NOTE:
            reason = f"section {name} of {section.size} bytes"
            raise BinaryError(elf.source.name, section.offset, reason)
        content = elf.content(section)
        if name == _TOOL:
            family |= any(int(found) == number for found in _COMMAND.findall(content))
        elif any(content.startswith(_ARCH_SPECIFIC, at) for at in range(0, len(content), 4)):
            return "a"
    return "f" if family else ""
