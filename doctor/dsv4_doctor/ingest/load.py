"""A snapshot from whatever a user gives: one of ours, or what other tools printed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dsv4_doctor import codec
from dsv4_doctor.errors import InputError, UsageError
from dsv4_doctor.ingest import documents, machines
from dsv4_doctor.ingest.assemble import assemble
from dsv4_doctor.ingest.reading import decode, lines_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsv4_doctor.ingest.told import Told
    from dsv4_doctor.snapshot import Snapshot

# As many as the machines of a rack print, with several commands each.
MAX_DOCUMENTS = 500

FORMATS = "a snapshot of ours, collect_env of PyTorch or vLLM, nvidia-smi, -q or -q -x"

_REPLACED = "\ufffd"
_OURS = re.compile(r'"schema"\s*:\s*"dsv4-doctor/')
_FENCE = re.compile(r"\s*```\w*\s*\n(?P<inside>.*)\n\s*```\s*", re.DOTALL)


def load(source: str, block: int | None = None) -> Snapshot:
    """Read a snapshot, or make one from a text, of a file or of standard input for ``-``.

    Args:
        source: Path, or ``-``.
        block: Which machine of the text, from 1; ``None`` for the first that is a target platform.

    Raises:
        InputError: Unreadable, too large, or nothing that is understood.
        UsageError: The text holds fewer machines.
    """
    raw, name = codec.read(source)
    return parse(raw, name, block)


def parse(raw: bytes, name: str, block: int | None = None) -> Snapshot:
    """Read a snapshot, or make one from a text; see :func:`load`.

    Args:
        raw: The bytes.
        name: Where they are from, for messages.
        block: Which machine of the text.
    """
    text = decode(raw)
    if _OURS.search(text):
        fence = _FENCE.fullmatch(text)
        stored = fence["inside"] if fence else text
        if stored.lstrip().startswith("{"):
            if _REPLACED in stored:
                codec.require_text(raw, name)
            return codec.parse_snapshot(stored, name)
    told = documents.find(lines_of(text, name))
    if len(told) > MAX_DOCUMENTS:
        msg = f"{name}: {len(told)} texts in one"
        raise InputError(msg, hint=f"give at most {MAX_DOCUMENTS} at a time")
    found = machines.group(told)
    if found:
        return _from_text(found, name, block)
    if text.lstrip()[:1] in {"{", "["}:
        return codec.parse_snapshot(text, name)
    msg = f"{name}: nothing in it is understood"
    raise InputError(msg, hint=f"what is: {FORMATS}")


def _from_text(found: Sequence[tuple[Told, ...]], name: str, block: int | None) -> Snapshot:
    chosen = _choose(found, name, block)
    told = machines.merge(found[chosen])
    from_lines = ", ".join(_place(each) for each in found[chosen])
    origin = [f"facts are from {name}, not from this machine: {from_lines}"]
    others = [number for number in range(len(found)) if number != chosen]
    if others:
        described = "; ".join(f"--block {each + 1} is {_block(found[each])}" for each in others)
        origin.append(f"{name} holds {len(found)} machines, this is {chosen + 1}: {described}")
    return assemble(told, tuple(origin))


def _choose(found: Sequence[tuple[Told, ...]], name: str, block: int | None) -> int:
    if block is None:
        targets = (number for number, each in enumerate(found) if not machines.merge(each).foreign)
        return next(targets, 0)
    if not 1 <= block <= len(found):
        msg = f"{name}: --block {block}: there are {len(found)} machines in it"
        raise UsageError(msg)
    return block - 1


def _place(told: Told) -> str:
    return f"{told.kind} in lines {told.first}-{told.last}"


def _block(documents_of_one: tuple[Told, ...]) -> str:
    told = machines.merge(documents_of_one)
    gpus = f", {len(told.gpus)} x {told.gpus[0].name or 'GPU'}" if told.gpus else ""
    foreign = f", {told.foreign}" if told.foreign else ""
    return f"{_place(documents_of_one[0])}{gpus}{foreign}"
