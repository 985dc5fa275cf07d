"""vLLM's lists of architectures, and which of them a build for every supported one compiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.arch import Arch

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# The function of cmake/utils.cmake that narrows a kernel family's list, and the whole list.
INTERSECTION = "cuda_archs_loose_intersection"
SUPPORTED = "CUDA_SUPPORTED_ARCHS"
BUILT = "CUDA_ARCHS"

_PTX = "+PTX"


def intersection(wanted: Iterable[str], supported: Sequence[str]) -> list[str]:
    """Return the entries of a kernel family's list that a build for all supported ones compiles.

    An entry is compiled when its GPU is supported; with a suffix or ``+PTX`` it stays as it is.
    """
    known = {Arch.parse(each) for each in supported if is_arch(each)}
    entries = [each for text in wanted for each in text.split(";") if each]
    return [each for each in entries if is_arch(each) and parse(each).base in known]


def is_arch(text: str) -> bool:
    """Whether this is an architecture, perhaps with ``+PTX``."""
    try:
        parse(text)
    except ValueError:
        return False
    return True


def parse(text: str) -> Arch:
    """Read an entry of a list, without its ``+PTX``.

    Raises:
        ValueError: The text names no architecture.
    """
    return Arch.parse(text.removesuffix(_PTX))


def has_ptx(text: str) -> bool:
    """Whether an entry asks for PTX, too."""
    return text.endswith(_PTX)


def dotted(entries: Iterable[Arch]) -> list[str]:
    """Return architectures as the knowledge files write them, in order, each once."""
    return [each.dotted for each in sorted(set(entries))]
