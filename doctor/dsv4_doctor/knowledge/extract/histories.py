"""Writes the tables over releases that :mod:`dsv4_doctor.knowledge.history` reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from packaging.version import Version

from dsv4_doctor.knowledge.history import LISTS, recorded

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from dsv4_doctor.knowledge.extract.facts import Json

Said = tuple[dict[str, Any], str, int]


def empty(schema: str, key: str) -> Json:
    """Return a table that knows no release."""
    return {"schema": schema, "releases": [], "files": [], key: {}}


def add(table: Json, key: str, said: Mapping[str, Mapping[str, Said]]) -> Json:
    """Return a table with more releases, or with some read again.

    Args:
        table: In the form of the file.
        key: What the file calls the entries.
        said: By release, what it says of each name, with file and line.
    """
    states: dict[str, dict[str, Said]] = {}
    for name, each in (recorded(table, key) if table["releases"] else {}).items():
        for release, place in each.places().items():
            state = each.says(release)
            if release not in said and state is not None:
                states.setdefault(name, {})[release] = state, place.file, place.line or 0
    for release, of in said.items():
        for name, one in of.items():
            states.setdefault(name, {})[release] = one
    releases = sorted({*table["releases"], *said}, key=Version)
    files: dict[str, int] = {}
    entries: Json = {}
    for name in sorted(states):
        ordered = {each: states[name][each] for each in releases if each in states[name]}
        entries[name] = {"in": _spans(releases, ordered), "at": _places(files, ordered)}
        entries[name] |= _states(releases, {each: one[0] for each, one in ordered.items()})
    return {**table, "releases": releases, "files": list(files), key: entries}


def _places(files: dict[str, int], states: Mapping[str, Said]) -> str:
    parts: list[str] = []
    before = ""
    for _, file, line in states.values():
        number = files.setdefault(file, len(files))
        parts.append(str(line) if file == before else f"{number}:{line}")
        before = file
    return " ".join(parts)


def _spans(releases: list[str], having: Collection[str]) -> str:
    runs: list[list[str]] = []
    before = False
    for each in releases:
        if each in having and before:
            runs[-1][1] = each
        elif each in having:
            runs.append([each, each])
        before = each in having
    return " ".join(_run(first, last, releases[-1]) for first, last in runs)


def _run(first: str, last: str, newest: str) -> str:
    if last == newest:
        return f"{first}.."
    return first if first == last else f"{first}..{last}"


def _states(releases: list[str], states: Mapping[str, Mapping[str, Any]]) -> Json:
    keys = dict.fromkeys(key for each in states.values() for key in each)
    same: Json = {}
    over: Json = {}
    for key in keys:
        values = {name: each[key] for name, each in states.items() if key in each}
        first = next(iter(values.values()))
        if len(values) == len(states) and all(_equal(each, first) for each in values.values()):
            same[key] = first
        elif key in LISTS:
            members = dict.fromkeys(member for each in values.values() for member in each)
            over[key] = {
                member: _spans(releases, [name for name in values if member in values[name]])
                for member in members
            }
        else:
            over[key] = _by_spans(releases, values)
    return ({"same": same} if same else {}) | ({"over": over} if over else {})


def _by_spans(releases: list[str], values: Mapping[str, Any]) -> Json:
    groups: list[tuple[Any, list[str]]] = []
    for name, value in values.items():
        group = next((names for known, names in groups if _equal(known, value)), None)
        if group is None:
            groups.append((value, [name]))
        else:
            group.append(name)
    return {_spans(releases, names): value for value, names in groups}


def _equal(first: Any, second: Any) -> bool:
    """Equality that tells ``1`` from ``True`` and from ``1.0``, as JSON does."""
    return type(first) is type(second) and bool(first == second)
