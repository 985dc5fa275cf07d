"""What is read back: a former picture, a list of expected hosts, a good machine's facts."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dsv4_doctor.errors import InputError
from dsv4_doctor.fleet.model import SCHEMA

if TYPE_CHECKING:
    from pathlib import Path

# One picture of a hundred thousand hosts.
_MAX_SIZE = 512 << 20


@dataclass(frozen=True)
class Earlier:
    """What of a former picture is compared with.

    Attributes:
        made_at: When its newest facts were read.
        hosts: Names of all its hosts, the missing ones, too.
        failed: Names of those that failed or were missing.
    """

    made_at: str
    hosts: frozenset[str]
    failed: frozenset[str]


def read_picture(path: Path) -> Earlier:
    """Read a picture that ``fleet report --format json`` wrote.

    Raises:
        InputError: Unreadable, or none.
    """
    try:
        data = json.loads(_read(path))
        if data["schema"] != SCHEMA:
            msg = f"{path}: not a picture of a fleet: its schema is {data['schema']!r}"
            raise InputError(msg, hint="`dsv4-doctor fleet report --format json` writes one")
        missing = frozenset(map(str, data["missing"]))
        verdicts = {str(each["name"]): each["verdict"] for each in data["hosts"]}
        failed = {name for name, verdict in verdicts.items() if verdict == "fail"}
        return Earlier(str(data["made_at"]), missing | verdicts.keys(), missing | failed)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        msg = f"{path}: not a picture of a fleet, or cut short: {error}"
        raise InputError(msg) from error


def read_expected(path: Path) -> tuple[str, ...]:
    """Read the hosts that should be there.

    The file has a name a line (``#`` begins a comment), or is what ``ansible-inventory --list``
    prints.

    Raises:
        InputError: Unreadable, or names no host.
    """
    text = _read(path)
    names = _inventory(text) if text.lstrip().startswith("{") else _lines(text)
    if not names:
        msg = f"{path}: names no host"
        raise InputError(msg)
    return tuple(sorted(names))


def _lines(text: str) -> set[str]:
    return {name for line in text.splitlines() for name in re.split(r"[\s,]+", _bare(line)) if name}


def _bare(line: str) -> str:
    return line.partition("#")[0].strip()


def _inventory(text: str) -> set[str]:
    try:
        data: Any = json.loads(text)
        groups = [each for name, each in data.items() if name != "_meta"]
        names = {str(host) for group in groups for host in group.get("hosts", ())}
        return names | set(data.get("_meta", {}).get("hostvars", {}))
    except (ValueError, AttributeError, TypeError, RecursionError):
        return set()


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(_MAX_SIZE + 1)
    except OSError as error:
        msg = f"{path}: {error.strerror or error}"
        raise InputError(msg) from error
    if len(raw) > _MAX_SIZE:
        msg = f"{path}: larger than {_MAX_SIZE >> 20} MiB"
        raise InputError(msg)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        msg = f"{path}: not UTF-8 text (byte {error.start})"
        raise InputError(msg) from error
