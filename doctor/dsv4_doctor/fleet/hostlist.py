"""Names of hosts in the bracket form that schedulers read: ``node[001-004,007]``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# The last number in a name is what runs through a rack; the text around it stays.
_NUMBERED = re.compile(r"(?P<before>.*?)(?P<number>[0-9]+)(?P<after>[^0-9]*)", re.DOTALL)


def fold(names: Iterable[str]) -> str:
    """Return the names, each once, sorted, with runs of numbers folded into brackets.

    A number with leading zeros only joins others of its width: ``n1`` and ``n01`` are two hosts.
    """
    plain: set[str] = set()
    sets: dict[tuple[str, str], set[str]] = {}
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match is None:
            plain.add(name)
        else:
            sets.setdefault((match["before"], match["after"]), set()).add(match["number"])
    folded = [*plain]
    for (before, after), digits in sets.items():
        folded += [f"{before}{runs}{after}" for runs in _brackets(digits)]
    return ",".join(sorted(folded))


def _brackets(digits: set[str]) -> list[str]:
    padded = {len(each) for each in digits if len(each) > 1 and each.startswith("0")}
    by_width: dict[int, list[int]] = {}
    for each in digits:
        width = len(each) if len(each) in padded else 0
        by_width.setdefault(width, []).append(int(each))
    folded = []
    for width, numbers in by_width.items():
        runs = _runs(sorted(numbers), width)
        folded.append(runs if len(numbers) == 1 else f"[{runs}]")
    return folded


def _runs(numbers: list[int], width: int) -> str:
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1] = [parts[-1][0], number]
        else:
            parts.append([number])
    return ",".join("-".join(f"{number:0{width}}" for number in part) for part in parts)
