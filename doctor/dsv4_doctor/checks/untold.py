"""Facts that a source could not tell: a check that reads one does not get an empty value for it.

``Snapshot.probes`` may name one field of a section, such as ``python.headers``, with the reason
why it is not known. In the view that checks get, reading such a field raises, so that the check
is ``unknown``; ``None`` and an empty tuple keep their meaning, "looked, not there".

A tuple or a mapping that is named this way and holds something is incomplete: what it holds is
so, what it lacks may be there. Reading it is noted, and a check that read it cannot pass. The same
goes for the fields of a GPU, where ``None`` is what was not told and a fault may show in another,
and for the environment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from dsv4_doctor.facts.gpu import Gpu
from dsv4_doctor.facts.python import Distribution, PythonEnvironment
from dsv4_doctor.lazy_dataclass import names_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dsv4_doctor.snapshot import Snapshot

T = TypeVar("T")

# What checks look for in it is seldom there, so that an empty one is as good as any.
_OFTEN_EMPTY = "environment"


def if_told(read: Callable[[], T]) -> T | None:
    """Return what a check would like to know, ``None`` where it was not told.

    Args:
        read: Reads fields of the snapshot.
    """
    try:
        return read()
    except NotKnownError:
        return None


class NotKnownError(Exception):
    """A check cannot be decided because its facts are missing."""

    def __init__(self, section: str, reason: str, seconds: float) -> None:
        super().__init__(f"{section}: {reason}")
        self.section = section
        self.reason = reason
        self.seconds = seconds


class View:
    """A snapshot in which nothing that is not known can be taken for absent.

    Attributes:
        snapshot: For the checks; it cannot be stored.
        incomplete: What was read since :meth:`forget` that holds only a part, with the reason.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.incomplete: dict[str, str] = {}
        self._reasons = {
            run.name: run.error
            for run in snapshot.probes
            # Context.need says why a whole section is missing.
            if run.error and ("." in run.name or getattr(snapshot, run.name, None) is not None)
        }
        self.snapshot = self._veiled(snapshot, "") if self._reasons else snapshot

    def forget(self) -> None:
        """Start anew, for the next check."""
        self.incomplete.clear()

    def _veiled(self, value: T, path: str) -> T:
        """Return a value of the same class whose unknown fields raise when they are read."""
        if isinstance(value, tuple):
            return cast("T", tuple(self._veiled(each, path) for each in value))
        fields = names_of(value)
        if fields is None:
            return value
        held = {name: self._veiled(getattr(value, name), _join(path, name)) for name in fields}
        names = [name for name in held if _join(path, name) in self._reasons]
        kind = type(value)
        members: dict[str, Any] = {
            name: property(self._reader(_join(path, name), held[name], isinstance(value, Gpu)))
            for name in names
        }
        if isinstance(value, PythonEnvironment) and "distributions" in names:
            members["distribution"] = self._finder(held["distributions"])
        veiled: Any = object.__new__(type(kind.__name__, (kind,), members) if members else kind)
        veiled.__dict__.update(held)
        return cast("T", veiled)

    def _reader(self, path: str, held: Any, may_lack: bool) -> Callable[[Any], Any]:
        reason = self._reasons[path]

        def read(_section: Any) -> Any:
            if (
                not may_lack
                and path != _OFTEN_EMPTY
                and (not isinstance(held, (tuple, dict)) or not held)
            ):
                raise NotKnownError(path, reason, 0.0)
            self.incomplete[path] = reason
            return held

        return read

    def _finder(self, listed: tuple[Distribution, ...]) -> Callable[[Any, str], Distribution]:
        by_name: Mapping[str, Distribution] = {each.name: each for each in reversed(listed)}
        reason = self._reasons["python.distributions"]

        def find(_section: Any, name: str) -> Distribution:
            if name not in by_name:
                section = "python.distributions"
                raise NotKnownError(section, f"{reason}; no {name} there", 0.0)
            return by_name[name]

        return find


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
