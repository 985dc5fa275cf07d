"""In which ways a model can be split over GPUs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.launch.shape import Shape

# An FP8 matrix has a scale for each block of 128 by 128, which no GPU may cut through.
_SCALE_BLOCK = 128


@dataclass(frozen=True)
class Split:
    """One way to use the GPUs.

    Attributes:
        tensor: GPUs that share one copy of the attention.
        data: Copies, each with a KV cache of its own.
        expert_parallel: Whether each GPU holds whole experts, spread over all of them.
    """

    tensor: int
    data: int = 1
    expert_parallel: bool = False

    @property
    def gpus(self) -> int:
        """GPUs in use."""
        return self.tensor * self.data


def splits(shape: Shape, count: int) -> Iterator[Split]:
    """Give every way to use exactly so many GPUs."""
    for tensor in range(1, count + 1):
        if count % tensor:
            continue
        if why_not(shape, tensor):
            continue
        data = count // tensor
        if shape.experts is None:
            yield Split(tensor, data)
            continue
        # Copies of the attention make sense only with experts spread over all of them.
        if count > 1 and shape.experts.count % count == 0:
            yield Split(tensor, data, expert_parallel=True)
        if data == 1 and not _cuts_scales(shape, tensor):
            yield Split(tensor, 1)


def why_not(shape: Shape, tensor: int) -> str:
    """Say why the attention cannot be split over so many GPUs, empty when it can."""
    if shape.heads % tensor:
        return f"{shape.heads} attention heads do not divide by {tensor}"
    part = shape.compressed
    if part is not None and part.o_groups % tensor:
        return f"{part.o_groups} groups of the output projection do not divide by {tensor}"
    heads = shape.kv_heads
    if not shape.single_kv and heads % tensor and tensor % heads:
        return f"{heads} heads of keys and values neither divide nor multiply to {tensor}"
    if shape.experts is None and shape.width % tensor:
        return f"an intermediate width of {shape.width} does not divide by {tensor}"
    return ""


def _cuts_scales(shape: Shape, tensor: int) -> bool:
    """Whether splitting each expert would cut one of its blocks of scales, or not go at all."""
    width = shape.experts.width if shape.experts is not None else 0
    block = _SCALE_BLOCK if shape.precision.experts < 16 else 1
    return width % (tensor * block) != 0 if tensor > 1 else False
