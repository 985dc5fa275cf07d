"""``nvidia-smi -q`` and ``nvidia-smi -q -x`` as trees of values, with the same paths for both.

A path is made of the headings above a value, joined with ``/``, in lower case with ``_`` between
words: ``fb_memory_usage/total``. XML already has such names; what it names otherwise than the text
stands beside it in :mod:`dsv4_doctor.ingest.smi_facts`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from xml.parsers import expat

if TYPE_CHECKING:
    from collections.abc import Sequence

_GPU = re.compile(r"GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])[ \t]*$")
# What stands at the top of ``nvidia-smi -q``, for a paste that lacks its title.
LINE = re.compile(
    r"[ \t]*(?:(?:Driver|KMD) Version[ \t]+: \d|Attached GPUs[ \t]+: \d"
    r"|GPU [0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7][ \t]*$)"
)
_WORDS = re.compile(r"[^a-z0-9]+")
# Deeper than any log; a text may claim any indentation.
_DEEPEST = 12


@dataclass
class Log:
    """One log, as it is being read.

    Attributes:
        head: Values above the first GPU, by path.
        gpus: PCI address as written, and the values of each GPU; the first of one path stays.
        whole: Whether the end of the log is there.
    """

    head: dict[str, str] = field(default_factory=dict)
    gpus: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    whole: bool = True

    def put(self, path: str, value: str) -> None:
        """Add a value to the GPU that is being read, or to the head."""
        values = self.gpus[-1][1] if self.gpus else self.head
        values.setdefault(path, value)


def read_text(lines: Sequence[str]) -> Log:
    """Read ``nvidia-smi -q``: headings and ``Name : value``, in depth by indentation."""
    log = Log()
    above: list[tuple[int, str]] = []
    for line in lines:
        stripped = line.strip()
        depth = len(line) - len(line.lstrip())
        gpu = _GPU.match(stripped)
        if gpu is not None:
            log.gpus.append((gpu[1], {}))
            above = []
            continue
        name, colon, value = stripped.partition(" : ")
        if not stripped:
            continue
        while above and above[-1][0] >= depth:
            above.pop()
        path = _WORDS.sub("_", name.strip().lower()).strip("_")
        if colon:
            log.put("/".join([*(each for _, each in above), path]), value.strip())
        elif len(above) < _DEEPEST:
            above.append((depth, path))
    return log


class _Refused(Exception):  # noqa: N818 - it never leaves this module
    """The document declares entities, which nvidia-smi never does."""


def read_xml(text: str) -> Log:
    """Read ``nvidia-smi -q -x``, also a fragment of it.

    Entities are refused, so nothing expands; the document type is never fetched.
    """
    log = Log()
    reader = _XmlReader(log)
    parser = expat.ParserCreate()
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.characters
    parser.EntityDeclHandler = _refuse
    parser.buffer_text = True
    try:
        parser.Parse(text.encode("utf-8", "replace"), True)
    except (expat.ExpatError, _Refused):
        log.whole = False
    return log


def _refuse(*_declaration: object) -> None:
    raise _Refused


class _XmlReader:
    """Handlers of the parser: they keep the names above, and the text of the present element."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._above: list[str] = []
        self._text: list[str] = []
        self._leaf = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._text, self._leaf = [], True
        if name == "gpu" and len(self._above) == 1:
            self._log.gpus.append((attributes.get("id", ""), {}))
            self._above.append("")
        elif len(self._above) < _DEEPEST:
            self._above.append(name.lower())
        else:
            raise _Refused

    def end(self, _name: str) -> None:
        if self._leaf:
            path = "/".join(each for each in self._above[1:] if each)
            self._log.put(path, "".join(self._text).strip())
        self._leaf = False
        if self._above:
            self._above.pop()

    def characters(self, text: str) -> None:
        self._text.append(text)
