"""Finding the documents that are pasted together in one text, each read by its own module."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from dsv4_doctor.ingest import (
    collect_env,
    collect_env_lines,
    smi_facts,
    smi_links,
    smi_log,
    smi_messages,
    smi_table,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dsv4_doctor.ingest.told import Told

_XML_OPENINGS = ("<nvidia_smi_log", "<!DOCTYPE nvidia_smi")
_XML_END = "</nvidia_smi_log>"
_LOG_OPENING = "NVSMI LOG"
# What stands between the outputs of several commands.
_SEPARATORS = ("$ ", "# nvidia", "=== ", "```", "Collecting environment")


# Reads the document that begins in a line; returns what it tells and the line after it.
Reader: TypeAlias = "Callable[[Sequence[str], int], tuple[Told, int]]"


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


def _reader(line: str) -> Reader | None:
    """Return what reads the document that begins in this line."""
    if "<" in line and any(each in line for each in _XML_OPENINGS):
        return _xml
    if _LOG_OPENING in line or smi_log.LINE.match(line):
        return _log
    if smi_table.OPENING.match(line):
        return _table
    if "GPU" in line and smi_links.MATRIX.match(line):
        return _matrix
    if "(UUID: " in line and smi_links.LISTED.match(line):
        return _list
    return _message(line)


def _message(line: str) -> Reader | None:
    if "NVIDIA-SMI" not in line and "NVML" not in line:
        return None
    if smi_messages.VERSIONS.match(line):
        return _versions
    return _failure if smi_messages.FAILED.search(line) else None


def _xml(lines: Sequence[str], start: int) -> tuple[Told, int]:
    end = start + 1
    while end < len(lines) and _XML_END not in lines[end - 1]:
        if _reader(lines[end]) in {_log, _table} or collect_env_lines.is_start(lines[end]):
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
        if opens or line.startswith(_SEPARATORS) or collect_env_lines.is_start(line):
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


def _matrix(lines: Sequence[str], start: int) -> tuple[Told, int]:
    end = _while(lines, start, smi_links.continues_matrix)
    return smi_links.read_matrix(lines[start:end], start + 1), end


def _list(lines: Sequence[str], start: int) -> tuple[Told, int]:
    end = _while(lines, start, smi_links.continues_list)
    return smi_links.read_list(lines[start:end], start + 1), end


def _versions(lines: Sequence[str], start: int) -> tuple[Told, int]:
    end = _while(lines, start, smi_messages.continues_versions)
    return smi_messages.read_versions(lines[start:end], start + 1), end


def _failure(lines: Sequence[str], start: int) -> tuple[Told, int]:
    end = min(start + 2, len(lines))
    told = smi_messages.read_failure(lines[start:end], start + 1)
    return told, start + 1


def _while(lines: Sequence[str], start: int, belongs: Callable[[str], bool]) -> int:
    """Return the line after those that belong to the document, without empty ones at its end."""
    end = start + 1
    while end < len(lines) and belongs(lines[end]) and not smi_links.MATRIX.match(lines[end]):
        end += 1
    while end > start + 1 and not lines[end - 1].strip():
        end -= 1
    return end


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
        if not collect_env_lines.is_start(line):
            continue
        opens = collect_env_lines.opens(line)
        if has_key or not starts:
            starts.append(number)
            has_key = False
        has_key = has_key or not opens
    return [0, *starts[1:]] if starts else [0]
