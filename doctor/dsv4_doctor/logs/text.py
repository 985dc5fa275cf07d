"""Bytes of a log as blocks of UTF-8 without control sequences, whatever was in the file."""

from __future__ import annotations

import codecs
import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_ESC = b"\x1b"

# Control sequences of terminals (ECMA-48): CSI, the strings OSC, DCS, SOS, PM and APC, and escapes
# of two or three bytes. Every part is bounded or a class that its end is not in, so no input makes
# this slow.
_CONTROL = re.compile(
    rb"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]"
    rb"|[\]PX^_][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)?"
    rb"|[ -/]{1,2}[0-~]|[0-Z\\`-~])?"
)

# The same within a JSON string, where the escape character is written out.
_WRITTEN = re.compile(rb"\\u001[bB]\[[0-?]{0,64}[ -/]{0,8}[@-~]")

# The beginning of one, at the end of what there is.
_BEGUN = re.compile(
    rb"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}|[\]PX^_][^\x07\x1b\n]{0,4096}\x1b?|[ -/]{1,2})?"
)

# Longest sequence that is put together when a chunk ends within it.
_LONGEST = 4200

# Share of NUL bytes at odd or even places from which a file is taken for UTF-16.
_UTF16_SHARE = 0.35
# Share of bytes that no text has from which a file is called binary.
_BINARY_SHARE = 0.1
_NO_TEXT = bytes(each for each in range(32) if each not in b"\t\n\r\x0c\x1b\x08")

# journald writes a message that is not printable text as a list of bytes.
_LISTED = re.compile(rb'"MESSAGE" ?: ?\[([0-9, ]*)\]')


class TextReader:
    """Turns chunks of a log into chunks of clean text.

    Attributes:
        notes: What was done to the text, for the reader of the result.
    """

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._removed = 0
        self._nul = False

    def read(self, raw: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the text, in the same pieces as far as possible.

        An empty piece stays one: who follows a log that grows tells by it that nothing came.
        """
        rest = b""
        for data in self._decoded(raw):
            text, rest = self._clean(rest + data) if data else (b"", rest)
            if text or not data:
                yield text
        if rest:
            yield self._strip(rest)
        self._conclude()

    def _decoded(self, raw: Iterator[bytes]) -> Iterator[bytes]:
        first = next(raw, None)
        while first == b"":
            yield first
            first = next(raw, None)
        if first is None:
            return
        encoding = _utf16(first)
        if encoding is None:
            self._judge(first)
            yield first.removeprefix(codecs.BOM_UTF8)
            yield from raw
            return
        self.notes.append(f"the file is {encoding.upper()}; read as such")
        decoder = codecs.getincrementaldecoder(encoding)("replace")
        yield decoder.decode(first).removeprefix("\ufeff").encode("utf-8", "replace")
        for data in raw:
            yield decoder.decode(data).encode("utf-8", "replace")

    def _judge(self, first: bytes) -> None:
        sample = first[: 1 << 16]
        strange = len(sample) - len(sample.translate(None, _NO_TEXT))
        if strange > _BINARY_SHARE * len(sample):
            self.notes.append("this is mostly binary data; text within it was searched")

    def _clean(self, data: bytes) -> tuple[bytes, bytes]:
        """Return the clean text, and the end of the data when it may be half a sequence."""
        self._nul = self._nul or b"\0" in data
        if b'"MESSAGE"' in data:
            data = _LISTED.sub(_unlisted, data)
        if b"\\u001" in data:
            data, count = _WRITTEN.subn(b"", data)
            self._removed += count
        last = data.rfind(_ESC, max(len(data) - _LONGEST, 0))
        if last < 0:
            return (self._strip(data) if _ESC in data else data), b""
        if _BEGUN.fullmatch(data, last):
            return self._strip(data[:last]), data[last:]
        return self._strip(data), b""

    def _strip(self, data: bytes) -> bytes:
        text, count = _CONTROL.subn(b"", data)
        self._removed += count
        return text

    def _conclude(self) -> None:
        if self._removed:
            self.notes.append(f"{self._removed} terminal control sequences were removed")
        if self._nul:
            self.notes.append("it contains NUL bytes")


def _utf16(first: bytes) -> str | None:
    if first.startswith(codecs.BOM_UTF16_LE):
        return "utf-16-le"
    if first.startswith(codecs.BOM_UTF16_BE):
        return "utf-16-be"
    sample = first[:4096]
    half = len(sample) // 2
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if half and odd > _UTF16_SHARE * 2 * half and not even:
        return "utf-16-le"
    if half and even > _UTF16_SHARE * 2 * half and not odd:
        return "utf-16-be"
    return None


def _unlisted(match: re.Match[bytes]) -> bytes:
    numbers = (int(each) for each in match[1].replace(b" ", b"").split(b",") if each)
    message = bytes(each for each in numbers if each < 256)
    text = _CONTROL.sub(b"", message).decode("utf-8", "replace")
    return b'"MESSAGE":' + json.dumps(text, ensure_ascii=False).encode("utf-8", "replace")
