"""``nvidia-smi topo -m``, ``-L`` and ``nvlink -s``: the GPUs, and what lies between them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dsv4_doctor.facts.topology import Peer
from dsv4_doctor.ingest.told import Told, ToldGpu

if TYPE_CHECKING:
    from collections.abc import Sequence

MATRIX = re.compile(r"[ \t]*GPU0\b.*\bCPU Affinity\b")
LISTED = re.compile(r"[ \t]*GPU (\d{1,3}): (\S.*?) \(UUID: ((?:GPU-)?[0-9a-fA-F-]{8,40})\)")
_MIG = re.compile(r"[ \t]*MIG \d+g\.")
_LINK = re.compile(r"[ \t]*Link (\d{1,2}): (?:(\d+(?:\.\d+)? GB/s)|(<inactive>))")
_NO_LINK = "all links are inactive"
_COLUMN = re.compile(r"(?:GPU|NIC)\d{1,3}")
_ADAPTER = re.compile(r"[ \t]*NIC\d{1,3}: (\w+)[ \t]*$")
_PATHS = frozenset({"PIX", "PXB", "PHB", "NODE", "SYS"})
_NVLINK = re.compile(r"NV\d{1,2}")


def continues_matrix(line: str) -> bool:
    """Whether a line belongs to the matrix or the legends under it."""
    return bool(
        _COLUMN.match(line.lstrip())
        or "Legend:" in line
        or re.match(r"[ \t]*(?:X|SYS|NODE|PHB|PXB|PIX|NV#)[ \t]+=", line)
        or not line.strip()
    )


def read_matrix(lines: Sequence[str], first: int) -> Told:
    """Read ``nvidia-smi topo -m``.

    A pair that NVLink joins has no other path there. What is missing in the matrix is not told.
    """
    columns = [word for word in lines[0].split() if _COLUMN.fullmatch(word)]
    cells: dict[tuple[str, str], str] = {}
    for line in lines[1:]:
        words = line.split()
        if words and words[0] in columns:
            cells |= {
                (words[0], name): word for name, word in zip(columns, words[1:], strict=False)
            }
    gpus = [name for name in columns if name.startswith("GPU")]
    pairs = [(one, other) for index, one in enumerate(gpus) for other in gpus[index + 1 :]]
    peers = [_peer(pair, cells.get(pair, "")) for pair in pairs]
    topology: dict[str, Any] = {}
    if all(peer is not None for peer in peers):
        topology["peers"] = tuple(peer for peer in peers if peer is not None)
    adapters = tuple(match[1] for match in map(_ADAPTER.match, lines) if match)
    if adapters or not any(name.startswith("NIC") for name in columns):
        topology["rdma"] = adapters
    return Told(
        kind="nvidia-smi topo -m",
        first=first,
        last=first + len(lines) - 1,
        gpus=tuple(ToldGpu(int(name[3:]), {}) for name in gpus),
        topology=topology,
    )


def _peer(pair: tuple[str, str], cell: str) -> Peer | None:
    linked = _NVLINK.fullmatch(cell) is not None
    if not linked and cell not in _PATHS:
        return None
    return Peer(
        first=int(pair[0][3:]),
        second=int(pair[1][3:]),
        path=None if linked else cell,
        nvlink="OK" if linked else None,
    )


def continues_list(line: str) -> bool:
    """Whether a line belongs to a list of GPUs or of their links."""
    return bool(LISTED.match(line) or _MIG.match(line) or _LINK.match(line) or _NO_LINK in line)


def read_list(lines: Sequence[str], first: int) -> Told:
    """Read ``nvidia-smi -L`` or ``nvidia-smi nvlink -s``."""
    found: dict[int, dict[str, Any]] = {}
    links: dict[int, dict[int, bool]] = {}
    index = 0
    for line in lines:
        gpu, link = LISTED.match(line), _LINK.match(line)
        if gpu is not None:
            index = int(gpu[1])
            found[index] = {"name": gpu[2], "uuid": gpu[3]}
        elif link is not None:
            links.setdefault(index, {})[int(link[1])] = link[2] is not None
        elif _NO_LINK in line:
            links[index] = {0: False}
        elif _MIG.match(line):
            found[index]["mig"] = True
    for number, states in links.items():
        # A link that is missing in between may be the one that is down.
        if sorted(states) == list(range(len(states))):
            found[number]["nvlinks"] = tuple(states[link] for link in sorted(states))
    gap = sorted(found) != list(range(len(found)))
    kind = "nvidia-smi nvlink -s" if links else "nvidia-smi -L"
    return Told(
        kind=kind,
        first=first,
        last=first + len(lines) - 1,
        gpus=tuple(ToldGpu(number, found[number]) for number in sorted(found)),
        no_gpus=f"the text of {kind} does not name every GPU" if gap else "",
    )
