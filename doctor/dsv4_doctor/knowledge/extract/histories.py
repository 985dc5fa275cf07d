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


def add(table: Json, key: str, release: str, said: Mapping[str, Said]) -> Json:
    """Return a table with one more release, or with one read again.

    Args:
        table: In the form of the file.
        key: What the file calls the entries.
        release: Its name.
        said: What it says of each name, with file and line.
    """
    known = recorded(table, key) if table["releases"] else {}
    old = [each for each in table["releases"] if each != release]
    releases = sorted([*old, release], key=Version)
    files: dict[str, int] = {}
    entries: Json = {}
    for name in sorted({*known, *said}):
        states = {
            each: state
            for each in old
            if name in known and (state := known[name].says(each)) is not None
        }
        if name in said:
            states[release] = said[name][0]
        if not states:
            continue
        newest = max(states, key=Version)
        if newest == release:
            file, line = said[name][1:]
        else:
            file, line = known[name].place.file, known[name].place.line or 0
        number = files.setdefault(file, len(files))
        entries[name] = {"in": _spans(releases, states), "at": f"{number}:{line}"}
        entries[name] |= _states(releases, states)
    return {**table, "releases": releases, "files": list(files), key: entries}


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
