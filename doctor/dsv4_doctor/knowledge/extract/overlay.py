"""What a person found out about features, merged into what a program reads.

``knowledge/features.json`` says how each feature is recognised and holds what needs judgement:
when it came and went, on which GPUs it runs, what a reader must know. A rule holds for some
releases, or for some revisions of an external project, and may rest on a text that must stand in
the tree; where it does not, the rule says nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from dsv4_doctor.knowledge.extract import families
from dsv4_doctor.knowledge.extract.facts import Gaps, Json, at

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dsv4_doctor.knowledge.extract.families import Material
    from dsv4_doctor.knowledge.extract.tree import SourceTree

# As in the knowledge files, which are read by people.
_ORDER = (
    "present", "first", "last", "needs", "archs", "ptx", "nvcc", "runtime_nvcc", "component",
    "file", "units", "optional", "compute_majors", "refused", "at", "note", "unknown",
)  # fmt: skip


def features(
    rules: Mapping[str, Json], material: Material, release: str, gaps: Gaps
) -> dict[str, Json]:
    """Return all features of a release in the form of the knowledge files."""
    return {name: _feature(name, rule, material, release, gaps) for name, rule in rules.items()}


def _feature(name: str, rule: Json, material: Material, release: str, gaps: Gaps) -> Json:
    found = _recognised(name, rule["recognised_by"], material, gaps)
    if found is None:
        return _ordered(_absent(name, rule, release, gaps))
    for each in rule.get("last", ()):
        found["last"] = each["release"]
    for each in rule.get("rules", ()):
        _apply(each, found, material, release)
    # An empty list is an answer: as everything else, or everywhere.
    unknown = [key for key in rule.get("expected", ()) if found.get(key) in (None, "")]
    for key in unknown:
        gaps.add(f"{name}: {key}: no rule of features.json holds for this tree")
    if unknown:
        found["unknown"] = unknown
    found["at"] = _unique(found["at"])
    return _ordered(found)


def _recognised(name: str, ways: Json | list[Json], material: Material, gaps: Gaps) -> Json | None:
    """What the tree says of the feature, by the first of several ways in which it may stand."""
    for way in ways if isinstance(ways, list) else [ways]:
        found = families.read(name, way, material, gaps)
        if found is not None:
            return found
    return None


def _absent(name: str, rule: Json, release: str, gaps: Gaps) -> Json:
    """A feature that is not there: it came later, or is gone."""
    for kind, later in (("first", True), ("last", False)):
        for each in rule.get(kind, ()):
            if (_compare(release, each["release"]) < 0) is later:
                found = {"present": False, kind: each["release"], "at": [each["at"]]}
                note = next(
                    (
                        text["note"]
                        for text in rule.get("absent_notes", ())
                        if _covers(text["releases"], release)
                    ),
                    None,
                )
                return found | ({"note": note} if note else {})
    gaps.add(f"{name}: not in this tree, and not known to have gone")
    return {"present": False, "at": []}


def _compare(release: str, other: str) -> int:
    first, second = Version(release), Version(other)
    return (first > second) - (first < second)


def _apply(rule: Json, found: Json, material: Material, release: str) -> None:
    if not _holds_for(rule.get("releases", ""), release):
        return
    pinned = _pinned(rule, material)
    if "revisions" in rule and not pinned:
        return
    # A place without a release of its own is in the pinned project, or of the release at hand.
    places = [
        each if isinstance(each, str) else _in_release(each, pinned or release)
        for each in rule.get("at", ())
    ]
    for anchor in rule.get("stands_in", ()):
        line = _find(material.tree, anchor["file"], anchor["text"])
        if line is None:
            return
        places.append(at(anchor["file"], line))
    found.update(rule.get("set", {}))
    found["at"] = [*found["at"], *places]


def _pinned(rule: Json, material: Material) -> str:
    """The one of the rule's revisions that the release pins, empty when it pins none."""
    wanted = rule.get("revisions", ())
    pins = [str(each["revision"]) for each in material.projects]
    return next((each for each in pins if each in wanted), "")


def _in_release(place: Json, release: str) -> Json:
    """A place with its release, in the order of the knowledge files."""
    return {"project": place["project"], "release": release, **place}


def _find(tree: SourceTree, file: str, text: str) -> int | None:
    for number, line in enumerate((tree.text(file) or "").splitlines(), start=1):
        if text == line.strip():
            return number
    return None


def _holds_for(specifiers: str | Sequence[str], release: str) -> bool:
    """Whether one of some specifiers takes the release."""
    given = [specifiers] if isinstance(specifiers, str) else specifiers
    return any(_covers(each, release) for each in given)


def _covers(specifier: str, release: str) -> bool:
    return SpecifierSet(specifier).contains(release, prereleases=True)


def _ordered(found: Json) -> Json:
    return {key: found[key] for key in _ORDER if key in found}


def _unique(places: Sequence[Json | str]) -> list[Json | str]:
    kept: list[Json | str] = []
    for each in places:
        if each not in kept:
            kept.append(each)
    return kept
