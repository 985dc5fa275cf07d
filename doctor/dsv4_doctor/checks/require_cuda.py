"""NVIDIA_REQUIRE_CUDA: what an image demands of the driver, as its container runtime reads it.

The variable holds alternatives apart by blanks; each is a list of conditions apart by commas, such
as ``brand=tesla,driver>=470,driver<471``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dsv4_doctor.checks import selection

if TYPE_CHECKING:
    from packaging.version import Version

_CONDITION = r"(?P<name>\w+)(?P<operator>>=|<=|!=|=|>|<)(?P<value>[\w.]+)"


def satisfied(
    requirement: str, *, cuda: str | None, driver: str | None, brand: str | None
) -> bool | None:
    """Whether a driver satisfies one of the alternatives.

    Args:
        requirement: The variable's value.
        cuda: Newest CUDA of the driver, such as ``12.1``.
        driver: Version of the driver.
        brand: Of the GPU, as nvidia-smi writes it.

    Returns:
        ``None`` when it cannot be told: nothing holds, and a condition is of a kind or about a
        fact that is not known.
    """
    alternatives = [each.split(",") for each in requirement.split()]
    if not alternatives:
        return True
    told = [_all([_holds(each, cuda, driver, brand) for each in one]) for one in alternatives]
    if True in told:
        return True
    return None if None in told else False


def _all(results: list[bool | None]) -> bool | None:
    if False in results:
        return False
    return None if None in results else True


def _holds(condition: str, cuda: str | None, driver: str | None, brand: str | None) -> bool | None:
    match = re.fullmatch(_CONDITION, condition.strip())
    if match is None:
        return None
    name, operator, value = match["name"], match["operator"], match["value"]
    if name == "brand":
        if brand is None or operator not in {"=", "!="}:
            return None
        same = re.sub(r"[^a-z]", "", brand.lower()) == value.lower()
        return same if operator == "=" else not same
    known = {"cuda": cuda, "driver": driver}.get(name)
    if known is None:
        return None
    return _compare(selection.version(known), operator, selection.version(value))


def _compare(left: Version, operator: str, right: Version) -> bool:
    return {
        ">=": left >= right,
        "<=": left <= right,
        ">": left > right,
        "<": left < right,
        "=": left == right,
        "!=": left != right,
    }[operator]
