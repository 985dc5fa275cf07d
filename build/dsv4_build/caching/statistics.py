"""What a compiler cache did for one build, from its own words."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

# What CMake compiles to learn of the compilers is no unit of the build.
_OF_CMAKE = re.compile(r"/CMakeFiles/|/Modules/CMake[^/]*$")
_LOCAL_HIT = frozenset({"direct_cache_hit", "preprocessed_cache_hit"})
# Of sccache; a server that is gone is a miss to it, and then a write error.
_FAILED = ("cache_timeouts", "cache_read_errors", "cache_write_errors")


@dataclass(frozen=True)
class Statistics:
    """What the cache did.

    Attributes:
        hits: Units that came out of it.
        misses: Units that were compiled and put into it.
        uncached: Units that it could do nothing for.
        remote_hits: Those of ``hits`` that the shared cache had; ``None`` when it does not tell.
        remote_errors: Times that the shared cache did not answer as it should.
        units: Sources that came out of it; empty when it does not tell.
        tries: Whether what CMake compiles to learn of the compilers is counted as units, too.
    """

    hits: int
    misses: int
    uncached: int
    remote_hits: int | None = None
    remote_errors: int = 0
    units: tuple[str, ...] = ()
    tries: bool = False

    @property
    def text(self) -> str:
        """One line for a person."""
        total = self.hits + self.misses + self.uncached
        counted = " (CMake's own tries among them)" if self.tries else ""
        parts = [f"{self.hits} of {total} units{counted} came out of it"]
        if self.remote_hits:
            parts.append(f"{self.remote_hits} of these out of the shared cache")
        if self.uncached:
            parts.append(f"{self.uncached} could not be cached")
        if self.remote_errors:
            parts.append(
                f"the shared cache failed {self.remote_errors} times: "
                "is it running, and are address and credentials right?"
            )
        return ", ".join(parts)


def of_ccache(log: str) -> Statistics:
    """Read the file that ``CCACHE_STATSLOG`` names: a source, then what happened to it."""
    hits: list[str] = []
    misses = uncached = remote = errors = 0
    for source, words in _invocations(log):
        if _OF_CMAKE.search(source):
            continue
        if words & _LOCAL_HIT:
            hits.append(source)
            remote += "remote_storage_hit" in words
        elif "cache_miss" in words:
            misses += 1
        elif not words & {"called_for_link", "called_for_preprocessing"}:
            uncached += 1
        errors += bool(words & {"remote_storage_error", "remote_storage_timeout"})
    return Statistics(len(hits), misses, uncached, remote, errors, tuple(hits))


def _invocations(log: str) -> Iterator[tuple[str, frozenset[str]]]:
    source, words = "", set[str]()
    for line in log.splitlines():
        if line.startswith("# "):
            if source:
                yield source, frozenset(words)
            source, words = line[2:], set()
        else:
            words.add(line.strip())
    if source:
        yield source, frozenset(words)


def of_sccache(text: str, *, shared: bool = False) -> Statistics | None:
    """Read ``sccache --show-stats --stats-format json``; ``None`` when it has another form.

    Args:
        shared: Whether its server was sent to a shared cache; it then has no other.
    """
    try:
        stats = json.loads(text)["stats"]
        # From 0.9 on the steps of nvcc are counted, too; a unit is under "CUDA" or "C/C++".
        hits, misses = (_units(stats[name]["counts"]) for name in ("cache_hits", "cache_misses"))
        requests = int(stats["compile_requests"])
        errors = sum(int(stats[name]) for name in _FAILED)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    uncached = max(requests - hits - misses, 0)
    return Statistics(hits, misses, uncached, hits if shared else None, errors, tries=True)


def _units(counts: dict[str, Any]) -> int:
    return sum(int(counts.get(language, 0)) for language in ("CUDA", "C/C++"))
