"""What programs and log drivers put before a line, taken off again."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

Level: TypeAlias = Literal["", "debug", "info", "warning", "error"]

# Longest line that is looked at; what is around the place that matters is kept.
WIDTH = 4096

_TIME = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"

# A line may have several of these, one after the other. Each is anchored and free of nested
# repetition. Groups: `stream` names one of several that write at the same time.
_PREFIXES = tuple(
    re.compile(pattern)
    for pattern in (
        r"\s+",
        # docker buildx --progress=plain, and its recap of the failed step
        r"(?P<stream>#\d{1,4}) (?:\d{1,6}\.\d{1,3} )?",
        r"\d{1,6}\.\d{1,3} (?=\S)",
        # docker compose
        r"(?P<stream>[\w.-]{1,80}) {1,20}\| ",
        # the container run-time interface of Kubernetes
        rf"{_TIME} (?:stdout|stderr) [FP] ",
        # kubectl logs --prefix
        r"\[(?P<stream>pod/[\w./-]{1,200})\] ",
        rf"\[?{_TIME}(?: TP\d+)?(?: DP\d+)?\]? ?",
        # syslog and journalctl
        r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.-]{1,80} [\w@./-]{1,80}(?:\[\d+\])?: ",
        # the kernel's log
        r"\[ {0,8}\d{1,9}\.\d{6}\] ",
        r"\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}\] ",
        # the fabric manager's log
        r"\[[A-Z][a-z]{2} [ \d]\d \d{4} \d\d:\d\d:\d\d\] ",
        r"\[tid \d+\] ",
        # what NCCL only tells; its warnings keep their name
        r"[\w.-]{1,80}:\d+:\d+ \[\d+\] NCCL (?P<level>INFO) ",
        # vLLM's processes, and Ray's
        r"\((?P<stream>[A-Za-z]\w{0,60} pid=\d+(?:, ip=[\d.]+)?)\) ?",
        r"\[(?P<stream>rank\d+)\]: ?",
        # vLLM's own header; it stands before every line of a traceback, too
        (
            r"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d "
            r"(?:\[?[\w./]{1,120}:\d*\]? ?)?"
        ),
        # torch and glog
        (
            r"\[?(?P<letter>[IWEF])\d{3,4} \d\d:\d\d:\d\d(?:\.\d+)?(?: \d+)? "
            r"[\w./-]{1,200}:\d+\] "
        ),
        r"\[(?P<level>DEBUG|INFO|WARNING|ERROR|error|info|warning)\] ?",
        r"##\[(?P<level>error|warning|debug)\]",
        # pip's and uv's frames
        r"[│├╰─▶>\u00d7 ]+",
    )
)

_LETTERS: dict[str, Level] = {"I": "info", "W": "warning", "E": "error", "F": "error"}
_LEVELS: dict[str, Level] = {
    "debug": "debug",
    "info": "info",
    "warning": "warning",
    "error": "error",
    "critical": "error",
}

# Keys of JSON lines that hold the line itself: journald, Docker, and the usual structured loggers.
_MESSAGES = ("MESSAGE", "log", "message", "msg")

# Prefixes that one line can have; more is no log but somebody's joke.
_MOST = 12


@dataclass(frozen=True)
class Stripped:
    """A line without what was put before it.

    Attributes:
        text: The line as the program wrote it.
        stream: Names of the processes or steps that wrote it, empty when it says none.
        level: The level that the line itself gives.
    """

    text: str
    stream: str = ""
    level: Level = ""


def strip(line: str) -> Stripped:
    """Take the prefixes off one line."""
    text = _message(line) if line.startswith("{") else line
    streams: list[str] = []
    level: Level = ""
    at = 0
    for _ in range(_MOST):
        match = next((found for each in _PREFIXES if (found := each.match(text, at))), None)
        if match is None or match.end() == at:
            break
        at = match.end()
        groups = match.groupdict()
        if groups.get("stream"):
            streams.append(groups["stream"])
        level = _level(groups) or level
    return Stripped(text[at:].rstrip(), " ".join(streams), level)


def _level(groups: dict[str, str]) -> Level:
    if letter := groups.get("letter"):
        return _LETTERS[letter]
    return _LEVELS.get((groups.get("level") or "").lower(), "")


def _message(line: str) -> str:
    """Return the line within a JSON line; the line itself when it is none."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return line
    if isinstance(data, dict):
        for key in _MESSAGES:
            value = data.get(key)
            if isinstance(value, str):
                return value.rstrip("\n")
    return line
