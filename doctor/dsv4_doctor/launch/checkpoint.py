"""The size of a checkpoint's tensors, by its index or by the headers of its files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dsv4_doctor.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

INDEX = "model.safetensors.index.json"
# The longest header that the format allows.
_MAX_HEADER = 100_000_000
_MAX_INDEX = 256 << 20
# More than any checkpoint, so that sums stay what they are meant to be.
_MAX_SIZE = 1 << 50


@dataclass(frozen=True)
class Size:
    """The tensors of a checkpoint.

    Attributes:
        total: Bytes of all of them, ``None`` when nothing tells.
        dtypes: Bytes by data type, as the headers call it; empty when no header was read.
        notes: What is not as it should be.
    """

    total: int | None
    dtypes: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()


def size(directory: Path) -> Size:
    """Return the size of the checkpoint in a directory.

    Raises:
        InputError: Its index or a header is broken.
    """
    shards = sorted(directory.glob("*.safetensors"))
    index = directory / INDEX
    if index.is_file():
        return _indexed(index, {each.name for each in shards})
    if not shards:
        return Size(None)
    dtypes: dict[str, int] = {}
    for each in shards:
        for name, count in header(each).items():
            dtypes[name] = dtypes.get(name, 0) + count
    return Size(sum(dtypes.values()), tuple(sorted(dtypes.items())))


def _indexed(index: Path, present: set[str]) -> Size:
    if index.stat().st_size > _MAX_INDEX:
        msg = f"{index}: larger than {_MAX_INDEX >> 20} MiB, so no index"
        raise InputError(msg)
    data = _json(index.read_bytes(), str(index))
    metadata, named = data.get("metadata"), data.get("weight_map")
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    if isinstance(total, float) and total.is_integer():
        total = int(total)
    if not _is_size(total):
        msg = f"{index}: metadata.total_size is not the size of a checkpoint"
        raise InputError(msg)
    files = (
        {each for each in named.values() if isinstance(each, str)}
        if isinstance(named, dict)
        else set()
    )
    missing = len(files - present)
    notes = (f"{missing} of {len(files)} files of the checkpoint are not there",) if missing else ()
    return Size(total, notes=notes)


def header(path: Path) -> dict[str, int]:
    """Return the bytes of each data type in one file, by its header alone.

    Raises:
        InputError: It is no safetensors file.
    """
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= _MAX_HEADER:
            msg = f"{path}: no safetensors file: its header would be {length} bytes long"
            raise InputError(msg)
        data = _json(file.read(length), str(path))
    found: dict[str, int] = {}
    for name, each in data.items():
        if name == "__metadata__":
            continue
        tensor: dict[str, Any] = each if isinstance(each, dict) else {}
        dtype, span = tensor.get("dtype"), _span(tensor.get("data_offsets"))
        if not isinstance(dtype, str) or span is None:
            msg = f"{path}: the header says nothing usable of one of its tensors"
            raise InputError(msg)
        found[dtype] = found.get(dtype, 0) + span
    return found


def _span(value: object) -> int | None:
    """The bytes between two offsets, ``None`` when they are none."""
    if not isinstance(value, list) or len(value) != 2:
        return None
    first, last = value
    good = (first == 0 or _is_size(first)) and (last == 0 or _is_size(last)) and first <= last
    return last - first if good else None


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MAX_SIZE


def _json(raw: bytes, name: str) -> dict[str, Any]:
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError) as error:
        msg = f"{name}: not JSON, or cut short: {error}"
        raise InputError(msg) from error
    if not isinstance(data, dict):
        msg = f"{name}: not a JSON object"
        raise InputError(msg)
    return data
