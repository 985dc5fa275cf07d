"""The command line: each parameter exists in the release, and says why it is there."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dsv4_doctor.knowledge import launch as knowledge

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsv4_doctor.knowledge.flags import ServeFlag


@dataclass(frozen=True)
class Parameter:
    """One flag of the command.

    Attributes:
        flag: As it is written.
        value: Its value, empty for a switch.
        reason: Why it is given.
        source: Where that stands.
        declared: Where the release declares the flag.
    """

    flag: str
    value: str
    reason: str
    source: str
    declared: str

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the command line."""
        return (self.flag, self.value) if self.value else (self.flag,)


@dataclass(frozen=True)
class LeftOut:
    """A parameter that the command does not have, though recipes or articles give it.

    Attributes:
        flag: Which one.
        reason: Why not.
        source: Where that stands.
    """

    flag: str
    reason: str
    source: str


@dataclass
class Command:
    """Collects parameters, and leaves out what the release does not take."""

    release: str
    flags: Mapping[str, ServeFlag]
    parameters: list[Parameter] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    def add(self, flag: str, value: object, reason: str, **facts: object) -> bool:
        """Add a parameter, or note that the release has no such flag or value.

        Args:
            flag: Such as ``--block-size``.
            value: ``True`` for a switch, a mapping for a JSON value.
            reason: Name of a reason in ``knowledge/launch.json``.
            facts: What its text names in braces.

        Returns:
            Whether the command has it now.
        """
        why = knowledge.reason(reason)
        text, source = why.text.format(**facts), str(why.place)
        known = self.flags.get(flag)
        written = _written(value)
        if known is None or (known.choices and not known.open and written not in known.choices):
            what = "has no such flag" if known is None else f"does not take {written}"
            self.left_out.append(LeftOut(flag, f"vLLM {self.release} {what}; {text}", source))
            return False
        if known.status == "ignored":
            self.left_out.append(
                LeftOut(flag, f"vLLM {self.release} accepts and ignores it", str(known.place))
            )
            return False
        self.parameters.append(Parameter(flag, written, text, source, str(known.place)))
        return True

    def omit(self, flag: str, reason: str, **facts: object) -> None:
        """Note a parameter that is better not given."""
        why = knowledge.reason(reason)
        self.left_out.append(LeftOut(flag, why.text.format(**facts), str(why.place)))

    def default(self, flag: str, otherwise: float) -> float:
        """Return the default of a flag that takes a number."""
        known = self.flags.get(flag)
        value = known.default if known is not None else None
        return float(value) if isinstance(value, (int, float)) else otherwise

    def has(self, flag: str, choice: str = "") -> bool:
        """Whether the release has a flag, and takes this choice."""
        known = self.flags.get(flag)
        return known is not None and (not choice or not known.choices or choice in known.choices)


def _written(value: object) -> str:
    if value is True:
        return ""
    if isinstance(value, dict):
        content: dict[str, Any] = value
        return json.dumps(content, separators=(",", ":"))
    return str(value)
