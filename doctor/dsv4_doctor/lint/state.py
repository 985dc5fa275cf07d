"""What a command line sets in the end: the last word on every flag and on every key."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dsv4_doctor.lint.values import decoded, leaf

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.lint.arguments import Given, Parsed


@dataclass(frozen=True)
class Value:
    """The value of one flag or key.

    Attributes:
        text: As a command line would have it; ``None`` when only running it would tell.
        given: The option that gives it.
    """

    text: str | None
    given: Given


def state(parsed: Parsed) -> dict[str, Value]:
    """Return the value of every flag that is given, and of every key of a JSON value."""
    found: dict[str, Value] = {}
    # A whole JSON value first: vLLM appends what dotted flags say as another one behind it.
    for given in sorted(parsed.given, key=lambda each: each.dotted):
        if given.flag is None:
            continue
        if given.dotted:
            key = _path(given)
            value = leaf(given.values[0]) if given.values else None
            found |= _keys(key, value, given) if isinstance(value, dict) else {}
            found[key] = Value(_text(value) if given.known else None, given)
        else:
            found[given.flag.name] = Value(_whole(given), given)
            found |= _json(given)
    return found


def _path(given: Given) -> str:
    """The key that a dotted option gives, with the flag's own name before it."""
    flag = given.flag
    owner = flag.name.partition(".")[0] if flag is not None else ""
    return f"{owner}.{given.name.partition('.')[2].removesuffix('+')}"


def _whole(given: Given) -> str | None:
    if not given.known:
        return None
    if given.values:
        return given.values[-1]
    return "false" if given.negative else "true"


def _json(given: Given) -> dict[str, Value]:
    if given.flag is None or "json" not in given.flag.type or not given.values or not given.known:
        return {}
    value, reason = decoded(given.values[0])
    return {} if reason or not isinstance(value, dict) else _keys(given.flag.name, value, given)


def _keys(name: str, value: dict[str, Any], given: Given) -> dict[str, Value]:
    return dict(_walk(name, value, given, 20))


def _walk(
    name: str, value: dict[str, Any], given: Given, depth: int
) -> Iterator[tuple[str, Value]]:
    for key, inner in value.items():
        yield f"{name}.{key}", Value(_text(inner), given)
        if isinstance(inner, dict) and depth:
            yield from _walk(f"{name}.{key}", inner, given, depth - 1)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
