"""What the tags of wheels promise, and what libraries' names say."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from dsv4_doctor.lazy_dataclass import dataclass
from dsv4_doctor.resources import files

if TYPE_CHECKING:
    from collections.abc import Mapping

_PEP_600 = re.compile(r"manylinux_(\d+)_(\d+)_(?P<machine>\w+)")
_NAMED = re.compile(r"manylinux(?:1|20\d\d)_(?P<machine>\w+)")


@dataclass(frozen=True)
class Policy:
    """What one platform tag of a wheel promises.

    Attributes:
        tag: Such as ``manylinux_2_28_x86_64``.
        glibc: Newest version of glibc that may be asked for, such as ``2.28``.
        limits: Newest version of each family (``GLIBC``, ``GLIBCXX``, ``CXXABI``), as far as known.
    """

    tag: str
    glibc: str
    limits: Mapping[str, str]


def policy(tag: str) -> Policy | None:
    """Return what a platform tag promises, ``None`` for one that promises nothing of the kind."""
    named = _NAMED.fullmatch(tag)
    pep_600 = _PEP_600.fullmatch(tag)
    found = named or pep_600
    if found is None:
        return None
    machine = found["machine"]
    name = tag.removesuffix(f"_{machine}")
    tables = _tables()["manylinux"]
    known = next((each for each in tables if name in (each["name"], *each["aliases"])), None)
    limits = dict(known["limits"].get(machine, {})) if known else {}
    if pep_600:
        # The tag itself says which glibc it is for, whether the tables have it or not.
        limits.setdefault("GLIBC", f"{pep_600[1]}.{pep_600[2]}")
    return Policy(tag, limits["GLIBC"], limits) if "GLIBC" in limits else None


@cache
def cuda_numbered() -> frozenset[str]:
    """Return libraries whose number after ``.so`` is the major version of CUDA."""
    return frozenset(_tables()["cuda_numbered"]["names"])


@cache
def interfaces_in_c() -> frozenset[str]:
    """Return libraries that define no C++ symbol."""
    return frozenset(_tables()["interfaces_in_c"]["names"])


@cache
def stable_abi() -> Mapping[str, tuple[int, int]]:
    """Return the Python release that added each symbol of the stable ABI, such as ``(3, 8)``."""
    return {
        name: (int(release.split(".")[0]), int(release.split(".")[1]))
        for release, names in _read("stable_abi.json")["added"].items()
        for name in names
    }


@cache
def _tables() -> Mapping[str, Any]:
    return _read("linkage.json")


def _read(name: str) -> Mapping[str, Any]:
    content: Mapping[str, Any] = json.loads(
        files(__package__).joinpath(name).read_text(encoding="utf-8")
    )
    return content
