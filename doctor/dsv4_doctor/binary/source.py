"""Where bytes come from: random access with bounds, whatever the file is wrapped in."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Protocol

from dsv4_doctor.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from typing_extensions import Self


class BinaryError(InputError):
    """A file is damaged, truncated, or not of the format that it claims.

    Attributes:
        name: The file, and the member inside it when it is an archive.
        offset: Where in it, in bytes.
        reason: What is wrong there.
    """

    def __init__(self, name: str, offset: int, reason: str) -> None:
        super().__init__(f"{name}: {reason} (at offset {offset:#x})")
        self.name = name
        self.offset = offset
        self.reason = reason


class Source(Protocol):
    """Bytes that can be read at any offset.

    Attributes:
        name: What errors call it.
        size: In bytes.
    """

    name: str
    size: int

    def read(self, offset: int, size: int) -> bytes:
        """Return exactly ``size`` bytes.

        Raises:
            BinaryError: They do not all exist.
        """
        ...

    def peek(self, size: int) -> bytes:
        """Return the first bytes, fewer where there are fewer: enough to tell the format.

        Raises:
            BinaryError: They cannot be read.
        """
        ...


def check_range(source: Source, offset: int, size: int) -> None:
    """Make sure that a range lies inside a source.

    Raises:
        BinaryError: It does not.
    """
    if offset < 0 or size < 0 or offset + size > source.size:
        reason = f"truncated: {size} bytes are needed here, the end is at {source.size:#x}"
        raise BinaryError(source.name, max(offset, 0), reason)


class DiskFile:
    """A file on disk, read where it is looked at.

    Not mapped: the headers of a fat binary lie far apart, and the kernel reads ahead at every
    page fault. With a cold cache, the headers in the libraries of vLLM 0.24.0 took 0.46 s through
    a mapping and 0.06 s in this way. Nor can a file that shrinks meanwhile kill the process.

    As a context manager it stays open; otherwise it is opened for each read, so that a directory
    of a thousand libraries does not use up the process's files.
    """

    def __init__(self, path: Path) -> None:
        """Look at the file's size.

        Raises:
            InputError: It cannot be opened, or is empty.
        """
        self.name = str(path)
        self._descriptor: int | None = None
        with self:
            status = os.fstat(self._file())
        self.size = status.st_size
        if not stat.S_ISREG(status.st_mode):
            msg = f"{path}: not a regular file"
            raise InputError(msg)
        if self.size == 0:
            msg = f"{path}: the file is empty"
            raise InputError(msg)

    def read(self, offset: int, size: int) -> bytes:
        """See :class:`Source`."""
        check_range(self, offset, size)
        if self._descriptor is None:
            with self:
                return self.read(offset, size)
        try:
            data = os.pread(self._descriptor, size, offset)
            while len(data) < size:
                more = os.pread(self._descriptor, size - len(data), offset + len(data))
                if not more:
                    raise BinaryError(self.name, offset, "the file shrank while it was read")
                data += more
        except OSError as error:
            raise BinaryError(self.name, offset, str(error.strerror)) from error
        return data

    def peek(self, size: int) -> bytes:
        """See :class:`Source`."""
        return self.read(0, min(size, self.size))

    def __enter__(self) -> Self:
        try:
            # A pipe or a device without a writer must not hold us up.
            self._descriptor = os.open(self.name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            msg = f"{self.name}: {error.strerror}"
            raise InputError(msg) from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._file())
        self._descriptor = None

    def _file(self) -> int:
        if self._descriptor is None:
            msg = f"{self.name} is not open"
            raise ValueError(msg)
        return self._descriptor


class Memory:
    """Bytes that are in memory already, such as a decompressed image."""

    def __init__(self, name: str, data: bytes | bytearray | memoryview) -> None:
        self.name = name
        self.size = len(data)
        self._data = data

    def read(self, offset: int, size: int) -> bytes:
        """See :class:`Source`."""
        check_range(self, offset, size)
        return bytes(self._data[offset : offset + size])

    def peek(self, size: int) -> bytes:
        """See :class:`Source`."""
        return self.read(0, min(size, self.size))


class Window:
    """A part of another source: a member that an archive stores as it is."""

    def __init__(self, source: Source, name: str, offset: int, size: int) -> None:
        check_range(source, offset, size)
        self.name = name
        self.size = size
        self._source = source
        self._offset = offset

    def read(self, offset: int, size: int) -> bytes:
        """See :class:`Source`."""
        check_range(self, offset, size)
        return self._source.read(self._offset + offset, size)

    def peek(self, size: int) -> bytes:
        """See :class:`Source`."""
        return self.read(0, min(size, self.size))
