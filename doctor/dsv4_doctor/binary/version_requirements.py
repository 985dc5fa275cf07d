"""Requirements on versions: ``torch==2.11``, ``cuda==13``, ``glibc<=2.28``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from packaging.specifiers import InvalidSpecifier, Specifier, SpecifierSet
from packaging.version import Version

from dsv4_doctor.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsv4_doctor.binary.link_problems import LinkageSummary
    from dsv4_doctor.binary.package import Package

Subject: TypeAlias = Literal["torch", "cuda", "glibc"]
# Met, not met, or not established; and why.
Answer: TypeAlias = "tuple[Literal['present', 'missing', 'unknown'], str]"

_SUBJECTS: dict[str, Subject] = {"torch": "torch", "cuda": "cuda", "glibc": "glibc"}
_PATTERN = re.compile(r"(?P<subject>[a-z]+)\s*(?P<versions>[<>=!~].*)", re.IGNORECASE)
_CONTINUES = ("<", ">", "=", "!", "~")
# No release of CUDA has had a higher minor version, nor will one.
_LAST_MINOR = 99


@dataclass(frozen=True)
class VersionRequirement:
    """Versions that something must have.

    Attributes:
        subject: ``torch`` that the package asks for, ``cuda`` of the libraries that its objects
            need, or the newest ``glibc`` that they ask for.
        versions: Those that are accepted.
    """

    subject: Subject
    versions: SpecifierSet


def join(parts: Iterable[str]) -> list[str]:
    """Join what a comma has separated within one requirement: ``torch>=2.10,<2.12``."""
    joined: list[str] = []
    for part in parts:
        if part.startswith(_CONTINUES) and joined and _PATTERN.fullmatch(joined[-1]):
            joined[-1] += f",{part}"
        else:
            joined.append(part)
    return joined


def parse(text: str) -> VersionRequirement | None:
    """Read a requirement on versions; ``None`` for one on something else.

    Raises:
        UsageError: The versions are not written as PEP 440 has it.
    """
    match = _PATTERN.fullmatch(text)
    subject = _SUBJECTS.get(match["subject"].lower()) if match else None
    if match is None or subject is None:
        return None
    try:
        versions = SpecifierSet(match["versions"])
    except InvalidSpecifier as error:
        msg = f"not versions: {match['versions']!r} in {text!r}"
        raise UsageError(msg, hint="such as torch==2.11, cuda>=13 or glibc<=2.28") from error
    return VersionRequirement(subject, _whole_majors(versions) if subject == "cuda" else versions)


def answer(requirement: VersionRequirement, linkage: LinkageSummary | None) -> Answer:
    """Decide a requirement on what was found."""
    if linkage is None:
        return "unknown", "how it is linked was not read"
    if requirement.subject == "torch":
        return _torch(requirement.versions, linkage.package)
    if requirement.subject == "cuda":
        return _cuda(requirement.versions, linkage.cuda)
    if linkage.glibc is None:
        return "unknown", "no object asks for a version of glibc"
    reason = f"the objects ask for glibc {linkage.glibc} at most"
    met = requirement.versions.contains(linkage.glibc)
    return ("present" if met else "missing"), reason


def _torch(versions: SpecifierSet, package: Package) -> Answer:
    if not package.name:
        return (
            "unknown",
            "neither a wheel nor an installed distribution, which would name its torch",
        )
    label = f"{package.name} {package.version}"
    asked = package.pinned("torch")
    if asked is None:
        return "missing", f"{label} does not ask for torch"
    pins = [each for each in asked if each.operator == "==" and not each.version.endswith(".*")]
    if len(pins) != 1 or len(asked) != 1:
        return "unknown", f"{label} asks for torch{asked}, which leaves open which one"
    met = versions.contains(pins[0].version, prereleases=True)
    return ("present" if met else "missing"), f"{label} asks for torch{asked}"


def _cuda(versions: SpecifierSet, majors: tuple[int, ...]) -> Answer:
    if not majors:
        return "unknown", "no object needs a library of CUDA with its version in its name"
    named = " and ".join(map(str, majors))
    reason = f"the objects need libraries of CUDA {named}"
    edges = [[f"{major}.0", f"{major}.{_LAST_MINOR}"] for major in majors]
    if all(versions.contains(edge) for pair in edges for edge in pair):
        return "present", reason
    if any(not any(versions.contains(edge) for edge in pair) for pair in edges):
        return "missing", reason
    return "unknown", f"{reason}; their names do not say which minor version"


def _whole_majors(versions: SpecifierSet) -> SpecifierSet:
    """Let ``13`` stand for every 13.x, as it does where people speak of CUDA."""
    return SpecifierSet(",".join(_whole_major(each) for each in versions))


def _whole_major(each: Specifier) -> str:
    if not each.version.isdecimal():
        return str(each)
    major = Version(each.version).major
    return {
        "==": f"=={major}.*",
        "!=": f"!={major}.*",
        "<=": f"<{major + 1}",
        ">": f">={major + 1}",
    }.get(each.operator, str(each))
