"""Finding the documents that are pasted together in one text, each read by its own module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.ingest import collect_env, smi_facts, smi_log, smi_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dsv4_doctor.ingest.told import Told

_XML_OPENINGS = ("<nvidia_smi_log", "<!DOCTYPE nvidia_smi")
_XML_END = "</nvidia_smi_log>"
_LOG_OPENING = "NVSMI LOG"
# What stands between the outputs of several commands.
_SEPARATORS = ("$ ", "# nvidia", "=== ", "```", "Collecting environment")


def find(lines: Sequence[str]) -> list[Told]:
    """Return what every document tells, in the order of the text."""
    left = list(lines)
    found: list[Told] = []
    number = 0
    while number < len(left):
        reader = _reader(left[number])
        if reader is None:
            number += 1
            continue
        told, end = reader(left, number)
        found.append(told)
        left[number:end] = [""] * (end - number)
        number = end
    found += _collect_env(left)
    return sorted(found, key=lambda told: told.first)


def _reader(line: str) -> Callable[[Sequence[str], int], tuple[Told, int]] | None:
    """Return what reads the document that begins in this line."""
    if "<" in line and any(each in line for each in _XML_OPENINGS):
        return _xml
    if _LOG_OPENING in line or smi_log.LINE.match(line):
        return _log
    return _table if smi_table.OPENING.match(line) else None


def _xml(lines: Sequence[str], start: int) -> tuple[Told, int]:
    end = start + 1
    while end < len(lines) and _XML_END not in lines[end - 1]:
        if _reader(lines[end]) in {_log, _table} or collect_env.is_start(lines[end]):
            break
        end += 1
    text = "\n".join(lines[start:end])
    log = smi_log.read_xml(text[text.index("<") :].partition(_XML_END)[0] + _XML_END)
    whole = _XML_END in text
    log.whole = log.whole and whole
    return smi_facts.from_log(log, "nvidia-smi -q -x", start + 1, end), end


def _log(lines: Sequence[str], start: int) -> tuple[Told, int]:
    end = start + 1
    while end < len(lines):
        line = lines[end].lstrip()
        opens = _LOG_OPENING in line or _reader(line) in {_xml, _table}
        if opens or line.startswith(_SEPARATORS) or collect_env.is_start(line):
            break
        end += 1
    log = smi_log.read_text(lines[start:end])
    return smi_facts.from_log(log, "nvidia-smi -q", start + 1, end), end


def _table(lines: Sequence[str], start: int) -> tuple[Told, int]:
    end = start + 1
    while end < len(lines) and lines[end].lstrip().startswith(("|", "+")):
        if smi_table.BANNER.match(lines[end]):
            break
        end += 1
    return smi_table.read(lines[start:end], start + 1), end


def _collect_env(lines: Sequence[str]) -> list[Told]:
    starts = _starts(lines)
    ends = [*starts[1:], len(lines)]
    texts = (
        collect_env.read(lines[start:end], start + 1)
        for start, end in zip(starts, ends, strict=True)
    )
    return [told for told in texts if told is not None]


def _starts(lines: Sequence[str]) -> list[int]:
    """Return where the texts of collect_env begin; the first has what stands before it, too.

    A text begins with its opening line, or with its first key where that was not pasted.
    """
    starts: list[int] = []
    has_key = False
    for number, line in enumerate(lines):
        if not collect_env.is_start(line):
            continue
        opens = collect_env.opens(line)
        if has_key or not starts:
            starts.append(number)
            has_key = False
        has_key = has_key or not opens
    return [0, *starts[1:]] if starts else [0]
