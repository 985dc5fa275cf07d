"""Cutting a text of collect_env at its keys, wherever whoever pasted it broke the lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

TORCH = "PyTorch version"
OPENING = "Collecting environment information"
# vLLM's first heading.
_HEADING = "System Info"

_KEYS = (
    TORCH,
    "Is debug build",
    "CUDA used to build PyTorch",
    "ROCM used to build PyTorch",
    "XPU used to build PyTorch",
    "OS",
    "GCC version",
    "Clang version",
    "CMake version",
    "Libc version",
    "Python version",
    "Python platform",
    "Is CUDA available",
    "CUDA runtime version",
    "CUDA_MODULE_LOADING set to",
    "GPU models and configuration",
    "Nvidia driver version",
    "cuDNN version",
    "HIP runtime version",
    "MIOpen runtime version",
    "Is XNNPACK available",
    "Is XPU available",
    "Caching allocator config",
    "CPU(s)",
    "NUMA node(s)",
    "Versions of relevant libraries",
    "GPU Topology",
)
# vLLM before 0.9 glued these to the line before.
GLUED = ("ROCM Version", "Neuron SDK Version", "vLLM Version", "vLLM Build Flags")
_ENDINGS = (*_KEYS, *GLUED)
# The longest key, or the width that vLLM pads to, with room.
_LONGEST = 64


@dataclass(frozen=True)
class Part:
    """A line that begins with a key, and those after it that do not.

    Attributes:
        number: From 1.
        more: What follows until the next key.
    """

    number: int
    key: str
    value: str
    more: tuple[str, ...]


def opens(line: str) -> bool:
    """Whether this is what stands above the first key."""
    return OPENING in line or line.strip() == _HEADING


def is_start(line: str) -> bool:
    """Whether a text of collect_env begins here, or has its first key here."""
    return opens(line) or (TORCH in line and any(key == TORCH for _, _, key in _keys_in(line)))


def _keys_in(line: str) -> list[tuple[int, int, str]]:
    """Return where each key begins, where its value begins, and the key."""
    found = []
    colon = line.find(":")
    while colon >= 0:
        head = line[max(0, colon - _LONGEST) : colon].rstrip(" \t")
        if head.endswith(_ENDINGS):
            key = max((each for each in _ENDINGS if head.endswith(each)), key=len)
            before = head[: -len(key)][-1:]
            if key in GLUED or not (before.isalnum() or before in {"_", "-", "."}) or not before:
                start = max(0, colon - _LONGEST) + len(head) - len(key)
                found.append((start, colon + 1, key))
        colon = line.find(":", colon + 1)
    return found


def cut(lines: Sequence[str], first: int) -> list[Part]:
    """Cut the text at its keys."""
    parts: list[Part] = []
    more: list[str] = []
    for number, line in enumerate(lines, first):
        keys = _keys_in(line)
        more.append(line[: keys[0][0]] if keys else line)
        ends = [*(start for start, _, _ in keys[1:]), len(line)]
        for (_, value, key), end in zip(keys, ends[: len(keys)], strict=True):
            if parts:
                parts[-1] = _closed(parts[-1], more)
            more = []
            told = line[value:end].partition("<br")[0].strip(' \t`",')
            parts.append(Part(number, key, told, ()))
    if parts:
        parts[-1] = _closed(parts[-1], more)
    return parts


def _closed(part: Part, more: list[str]) -> Part:
    return Part(part.number, part.key, part.value, tuple(more))
