"""Cutting the network off from the compile steps, where the kernel allows it, and showing it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dsv4_doctor.process import ProcessError, run

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsv4_build.caching.choice import Cache

# The first needs root or its capability, the others a kernel that lets users make namespaces.
_WAYS = (
    ("unshare", "--net"),
    ("unshare", "--user", "--map-current-user", "--net"),
    ("unshare", "--user", "--map-root-user", "--net"),
)
_LIMIT = 30.0

# A compiler cache that a team shares is asked while compilers run.
_OVER_THE_NETWORK = ("SCCACHE_", "CCACHE_REMOTE_STORAGE", "CCACHE_SECONDARY_STORAGE")


@dataclass(frozen=True)
class Isolation:
    """Whether compile steps have a network.

    Attributes:
        prefix: What comes before their commands; empty when they have one.
        because: Why.
        interfaces: The network interfaces that a process sees behind the prefix.
    """

    prefix: tuple[str, ...]
    because: str
    interfaces: tuple[str, ...] = ()

    @property
    def isolated(self) -> bool:
        """Whether they have none."""
        return bool(self.prefix)

    def ways(self, offline: bool) -> tuple[tuple[str, ...], ...]:
        """Return what comes before a command that may have to fetch: without a network first."""
        return tuple(dict.fromkeys((self.prefix, self.prefix if offline else ())))

    def __str__(self) -> str:
        """For a plan and a report."""
        if not self.isolated:
            return f"reachable in the compile steps: {self.because}"
        seen = ", ".join(self.interfaces) or "none"
        return f"cut off in the compile steps: {' '.join(self.prefix[:-1])}; interfaces: {seen}"


def decide(
    *, offline: bool | None, lacking: str, variables: Iterable[str], cache: Cache | None = None
) -> Isolation:
    """Return whether compile steps get a network.

    Args:
        offline: What was asked for, ``None`` for no network when none is needed.
        lacking: What is not known to be on this machine; empty when all sources are.
        variables: Names of the environment variables of the build.
        cache: Its compiler cache; one that is asked over the network is never cut off, since
            every compiler would then fail.
    """
    if cache is not None and cache.kind == "sccache":
        return Isolation((), "sccache's server is asked over it")
    if cache is not None and cache.remote is not None:
        return Isolation((), "a compiler cache is shared over it")
    if offline is False:
        return Isolation((), "it was asked for (--online)")
    if offline is None and lacking:
        return Isolation((), lacking)
    shared = sorted(name for name in variables if name.startswith(_OVER_THE_NETWORK))
    if offline is None and shared:
        return Isolation((), f"{shared[0]} may name a compiler cache on another machine")
    return probe()


def probe() -> Isolation:
    """Try which way the kernel allows, and look from the inside what is there."""
    refused = ""
    for way in _WAYS:
        try:
            done = run([*way, "--", "cat", "/proc/self/net/dev"], limit=_LIMIT)
        except ProcessError as error:
            return Isolation((), f"it cannot be cut off: {error}")
        if done.ok:
            return Isolation((*way, "--"), "the kernel allows it", interfaces(done.stdout))
        refused = refused or done.stderr.strip()
    return Isolation((), f"the kernel does not allow to cut it off: {refused}")


def interfaces(text: str) -> tuple[str, ...]:
    """Return the names in ``/proc/net/dev``."""
    return tuple(
        name.strip()
        for name, colon, _ in (line.partition(":") for line in text.splitlines()[2:])
        if colon
    )
