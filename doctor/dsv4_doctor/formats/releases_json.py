"""Answers over releases as JSON, each in a schema of its own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dsv4_doctor import __version__
from dsv4_doctor.releases.compare import changes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsv4_doctor.knowledge.model import Release
    from dsv4_doctor.knowledge.places import Place
    from dsv4_doctor.releases.compare import Side
    from dsv4_doctor.releases.entry import Entry
    from dsv4_doctor.releases.find import Fit


def table(releases: Iterable[Release]) -> str:
    """Return the pins and features of all releases."""
    return _document(
        "releases",
        {
            "releases": [
                {
                    "release": each.name,
                    "requires_python": each.requires_python.value,
                    "torch": each.torch.value,
                    "torch_cuda": each.torch_cuda.value if each.torch_cuda else None,
                    "main_cuda": each.main_cuda.value,
                    "gcc": [
                        {"minimum": str(floor.minimum), "scope": floor.scope} for floor in each.gcc
                    ],
                    "features": [name for name in each.features if each.has(name)],
                }
                for each in releases
            ]
        },
    )


def show(shown: Side) -> str:
    """Return everything that is known of one release, each thing with its source."""
    release = shown.release
    return _document(
        "releases-show",
        {
            "release": release.name,
            "sdist_sha256": release.sdist_sha256,
            "topics": {
                topic: {name: _entry(each) for name, each in listed.items()}
                for topic, listed in shown.entries()
            },
            "absent": {
                each.name: {"first": each.first, "last": each.last, "note": each.note}
                for each in release.features.values()
                if not each.present
            },
            "notes": {each.name: each.note for each in release.features.values() if each.note},
            "not_established": list(release.not_established),
        },
    )


def difference(old: Side, new: Side) -> str:
    """Return what changed between two releases."""
    return _document(
        "releases-diff",
        {
            "from": old.release.name,
            "to": new.release.name,
            "changes": [
                {
                    "topic": each.topic,
                    "name": each.name,
                    "kind": each.kind,
                    "before": _entry(each.before),
                    "after": _entry(each.after),
                }
                for each in changes(old, new)
            ],
        },
    )


def found(fits: Iterable[Fit]) -> str:
    """Return which releases fit, newest first, and what is in the way of the others."""
    return _document(
        "releases-find",
        {
            "releases": [
                {
                    "release": each.release.name,
                    "fits": each.good,
                    "in_the_way": [
                        {"text": one.text, "source": _place(one.place)} for one in each.obstacles
                    ],
                }
                for each in fits
            ]
        },
    )


def _document(kind: str, content: dict[str, Any]) -> str:
    document = {
        "schema": f"dsv4-doctor/{kind}/1",
        "tool": {"name": "dsv4-doctor", "version": __version__},
        **content,
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _entry(entry: Entry | None) -> dict[str, Any] | None:
    return None if entry is None else {"value": entry.value, "source": _place(entry.place)}


def _place(place: Place | None) -> str | None:
    return None if place is None else str(place)
