"""What the two processes say to each other: one pickled request, one pickled answer."""

from __future__ import annotations

import os
import struct

CHUNK = 1 << 16

# Before the answer stands its length: its end would come with that of the process only.
SIZE = struct.Struct("<Q")


def write(descriptor: int, data: bytes) -> None:
    """Write all of it.

    Raises:
        BrokenPipeError: Nobody reads.
    """
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
