"""In which releases each flag exists: one table for all, since most flags live long."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.version import Version

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dsv4_doctor.knowledge.extract.facts import Json

SCHEMA = "dsv4-doctor/flags/1"
EMPTY: Json = {"schema": SCHEMA, "releases": [], "flags": {}}


def add(history: Json, release: str, flags: Mapping[str, tuple[str, int]]) -> Json:
    """Return the table with one more release, or with one read again.

    Args:
        history: In the schema of ``knowledge/flags.json``.
        release: The release that has the flags.
        flags: Its flags with file and line.
    """
    old: list[str] = history["releases"]
    releases = sorted({*old, release}, key=Version)
    table: Json = {}
    for name in sorted({*history["flags"], *flags}):
        known: Json = history["flags"].get(name, {"spans": [], "at": None})
        having = {each for each in old if each != release and _within(known["spans"], each)}
        if name in flags:
            having.add(release)
        if having:
            at = _place(known["at"], release, flags.get(name), max(having, key=Version))
            table[name] = {"spans": _spans(releases, having), "at": at}
    return {"schema": SCHEMA, "releases": releases, "flags": table}


def _within(spans: Sequence[Sequence[str]], release: str) -> bool:
    wanted = Version(release)
    return any(Version(first) <= wanted <= Version(last) for first, last in spans)


def _spans(releases: Sequence[str], having: set[str]) -> list[list[str]]:
    """The unbroken runs of releases, each by its first and its last."""
    spans: list[list[str]] = []
    before = False
    for each in releases:
        if each in having and before:
            spans[-1][1] = each
        elif each in having:
            spans.append([each, each])
        before = each in having
    return spans


def _place(
    known: Json | None, release: str, place: tuple[str, int] | None, newest: str
) -> Json | None:
    """Where the newest release with the flag declares it."""
    if place is not None and newest == release:
        return {"project": "vllm", "release": release, "file": place[0], "line": place[1]}
    return known
