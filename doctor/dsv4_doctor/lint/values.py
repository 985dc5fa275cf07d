"""Whether a flag takes a value: its type, its choices, and the keys of a JSON value."""

from __future__ import annotations

import difflib
import json
import re
from typing import TYPE_CHECKING, Any

from dsv4_doctor.knowledge.flags import find

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dsv4_doctor.knowledge.flags import ServeFlag

# vLLM's human_readable_int, of 0.33.0 vllm/utils/argparse_utils.py: 1k is 1000, 1K is 1024, and
# only the decimal suffixes take a fraction.
_SIZE = re.compile(r"\d+|\d+(?:\.\d+)?[kmgt]|\d+[KMGT]|-1|auto", re.ASCII)
_NONE = "None"
_SCALARS = frozenset({"int", "float", "bool", "switch"})
_DEPTH = 20


def wrong(flag: ServeFlag, text: str) -> str:
    """Say what is wrong with a value of a command line, empty for nothing."""
    if text == _NONE:
        return ""
    if flag.choices and not flag.open and text not in flag.choices:
        return _not_chosen(flag, text)
    reader = _READERS.get(flag.type)
    return reader(text) if reader is not None else ""


def _not_chosen(flag: ServeFlag, text: str) -> str:
    close = difflib.get_close_matches(text, flag.choices, n=1)
    meant = f"; did you mean {close[0]}?" if close else ""
    return f"{text!r} is none of {', '.join(flag.choices)}{meant}"


def _no_int(text: str) -> str:
    return "" if _is(int, text) else f"{text!r} is no whole number"


def _no_float(text: str) -> str:
    return "" if _is(float, text) else f"{text!r} is no number"


def _no_size(text: str) -> str:
    if _SIZE.fullmatch(text):
        return ""
    return f"{text!r} is no size: a whole number, or one with k, m, g, t (1000) or K, M, G, T"


def _is(kind: type[int | float], text: str) -> bool:
    try:
        kind(text)
    except ValueError:
        return False
    return True


def _not_json(text: str) -> str:
    value, reason = decoded(text)
    if reason:
        return f"no JSON: {reason}"
    if isinstance(value, dict) or value is None:
        return ""
    return f"a JSON object is wanted, {text!r} is none"


_READERS: dict[str, Callable[[str], str]] = {
    "int": _no_int,
    "float": _no_float,
    "size": _no_size,
    "json": _not_json,
}


def decoded(text: str) -> tuple[Any, str]:
    """Return what a text is as JSON, and why it is none."""
    try:
        return json.loads(text), ""
    except (ValueError, RecursionError) as error:
        return None, str(error) or "too deep"


def wrong_keys(
    flags: Mapping[str, ServeFlag], flag: ServeFlag, text: str
) -> Iterator[tuple[str, str]]:
    """Give the keys of a JSON value that the release does not take, each with what is wrong.

    A value whose keys are not known, such as that of ``--hf-overrides``, has none that are wrong.
    """
    value, reason = decoded(text)
    if not reason and isinstance(value, dict):
        yield from _keys(flags, flag.name, value, _DEPTH)


def _keys(
    flags: Mapping[str, ServeFlag], name: str, value: Mapping[str, Any], depth: int
) -> Iterator[tuple[str, str]]:
    if not depth or not any(each.startswith(f"{name}.") for each in flags):
        return
    for key, inner in value.items():
        path = f"{name}.{key}"
        flag = find(flags, path)
        if flag is None:
            yield path, f"there is no such key{_close(flags, path)}"
        elif isinstance(inner, dict):
            yield from _keys(flags, path, inner, depth - 1)
        elif flag.name == path:
            said = wrong_leaf(flag, inner)
            if said:
                yield path, said


def _close(flags: Mapping[str, ServeFlag], path: str) -> str:
    close = difflib.get_close_matches(
        path, [each for each in flags if "." in each], n=1, cutoff=0.8
    )
    return f"; did you mean {close[0]}?" if close else ""


def wrong_leaf(flag: ServeFlag, value: Any) -> str:
    """Say what is wrong with the value of one key, empty for nothing.

    vLLM gives it to pydantic, which takes a text for a number where it reads as one.
    """
    if value is None or flag.nargs or isinstance(value, list):
        return ""
    text = json.dumps(value) if isinstance(value, (dict, bool)) else str(value)
    if flag.choices and not flag.open and text.lower() not in map(str.lower, flag.choices):
        return _not_chosen(flag, text)
    if flag.type in _SCALARS and isinstance(value, dict):
        return f"{text} is no {flag.type}"
    if flag.type == "int" and isinstance(value, str) and not _SIZE.fullmatch(text):
        return f"{text!r} is no whole number"
    if flag.type == "float" and isinstance(value, str) and not _is(float, text):
        return f"{text!r} is no number"
    return ""


def leaf(text: str) -> Any:
    """Return what vLLM makes of the value after a dotted flag: JSON, or else the text."""
    value, reason = decoded(text)
    return text if reason else value
