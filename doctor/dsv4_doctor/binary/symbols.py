"""To which library an undefined symbol belongs, by its name."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

# The namespace that an entity is in, where its mangled name starts: qualifiers of a member
# function (K, V, R, O) and the marks of tables and guards come before.
_START = r"_Z(?:T[VTIS]|GVN?|T[hv]n?\d*_(?:n?\d+_)?)?N?[rVKRO]*"
_TORCH = re.compile(rf"{_START}(?:3c10|2at|5torch|6caffe2)|(?:aoti_torch|torch|aten)_")
_STANDARD = re.compile(
    rf"{_START}(?:St|S[absiod]|9__gnu_cxx|10__cxxabiv1|NSt)|_Zn[wa]|_Zd[la]|__cxa_|__gxx_|__dynamic_cast"
    r"|_ZTI[a-z]$|_ZTIP|_ZTS"
)
_PYTHON = re.compile(r"_?Py[A-Z_]")

Owner: TypeAlias = Literal["torch", "python", "standard", "c++", "c"]


def owner_of(name: str) -> Owner:
    """Say which library would define a symbol; ``c++`` and ``c`` are for any other."""
    if _TORCH.match(name):
        return "torch"
    if _PYTHON.match(name):
        return "python"
    if _STANDARD.match(name):
        return "standard"
    return "c++" if name.startswith("_Z") else "c"


def stem_of(name: str) -> str:
    """Return the mangled name up to the parameters, empty when it has none.

    ``_ZN3c106detail14torchCheckFailEPKcS2_jRKSs`` and the same function with the strings of
    another ABI have one stem: ``_ZN3c106detail14torchCheckFail``.
    """
    nested = re.match(r"_ZN[rVKRO]*", name)
    at = nested.end() if nested else 2 if name.startswith("_Z") else 0
    start = at
    while found := re.compile(r"\d{1,4}").match(name, at):
        at = found.end() + int(found[0])
        if nested is None:
            break
    return name[:at] if at > start and at < len(name) else ""
