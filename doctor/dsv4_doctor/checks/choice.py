"""Which checks are asked for: ``--select`` and ``--ignore`` over the ids of checks and findings."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from dsv4_doctor.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dsv4_doctor.checks.registry import Check

# How alike, from 0 to 1, an id must be to be named as what may have been meant.
_ALIKE = 0.5
_NEAR = 5


@dataclass(frozen=True)
class Choice:
    """Which checks run and which of their findings are shown.

    A pattern is an id or a glob. One that matches a check means all findings of that check.

    Attributes:
        select: Patterns of what is wanted; empty for everything.
        ignore: Patterns of what is not wanted, stronger than ``select``.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def runs(self, check: Check) -> bool:
        """Whether a check can give a finding that is wanted."""
        return any(self.keeps(check, finding) for finding in (check.id, *check.findings))

    def keeps(self, check: Check, finding: str) -> bool:
        """Whether a finding of a check is wanted.

        A check that cannot be decided gives one finding under its own id; it is kept for whoever
        wants any finding of the check, so that a selection never hides that it could not be told.
        """
        ids = {check.id, finding}
        if _match(self.ignore, ids):
            return False
        if not self.select or _match(self.select, ids):
            return True
        return finding == check.id and _match(self.select, check.findings)


def parse(select: Sequence[str], ignore: Sequence[str], checks: Iterable[Check]) -> Choice:
    """Read patterns as given on the command line, repeated or with commas.

    Raises:
        UsageError: One of them matches no check and no finding; the message names those that are
            written nearly so.
    """
    known = sorted({name for check in checks for name in (check.id, *check.findings)})
    wanted, unwanted = _split(select), _split(ignore)
    for option, patterns in (("--select", wanted), ("--ignore", unwanted)):
        for pattern in patterns:
            if not any(fnmatchcase(name, pattern) for name in known):
                msg = f"{option} {pattern}: no check has this id{_near(pattern, known)}"
                raise UsageError(msg, hint="`dsv4-doctor checks` lists them")
    return Choice(wanted, unwanted)


def find(identifier: str, checks: Iterable[Check]) -> Check:
    """Return the check with this id, or the one that gives findings with it.

    Raises:
        UsageError: There is none; the message names those that are written nearly so.
    """
    by_id = {name: check for check in checks for name in (*check.findings, check.id)}
    if identifier in by_id:
        return by_id[identifier]
    msg = f"no check has the id {identifier!r}{_near(identifier, sorted(by_id))}"
    raise UsageError(msg, hint="`dsv4-doctor checks` lists them")


def left_out(choice: Choice, checks: Iterable[Check]) -> tuple[str, ...]:
    """Say what a choice left out, in lines for the report; nothing for everything."""
    notes = []
    everything = tuple(checks)
    running = [check for check in everything if choice.runs(check)]
    if choice.select:
        patterns = ", ".join(choice.select)
        notes.append(
            f"--select {patterns}: {len(running)} of {len(everything)} checks were asked for"
        )
    if choice.ignore:
        ids = [
            name
            for check in everything
            for name in dict.fromkeys((*check.findings, check.id))
            if Choice(choice.select).keeps(check, name) and not choice.keeps(check, name)
        ]
        notes.append(f"left out by --ignore: {', '.join(ids) or 'nothing'}")
    return tuple(notes)


def _split(texts: Sequence[str]) -> tuple[str, ...]:
    parts = (part.strip() for text in texts for part in text.split(","))
    return tuple(dict.fromkeys(part for part in parts if part))


def _match(patterns: Iterable[str], names: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in names)


def _near(text: str, known: Sequence[str]) -> str:
    import difflib  # noqa: PLC0415 - only who mistypes waits for it

    near = difflib.get_close_matches(text, known, _NEAR, _ALIKE)
    return f"; near: {', '.join(near)}" if near else ""
