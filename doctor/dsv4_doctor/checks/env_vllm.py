"""Environment variables of vLLM that no release reads, or not the one that is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.knowledge import load
from dsv4_doctor.report import Command, Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dsv4_doctor.knowledge.history import Recorded

_PREFIX = "VLLM_"


def _set(context: Context) -> dict[str, str]:
    """Return vLLM's variables as they are set, without those that its Dockerfile hands on."""
    environ = context.snapshot.environment or {}
    named = {name: value for name, value in environ.items() if name.startswith(_PREFIX)}
    if not named:
        return {}
    handed = {name.upper() for name in load.docker()}
    return {name: value for name, value in named.items() if name not in handed}


@check(
    "env.vllm.unknown",
    "variables that no release reads",
    reads=("environment",),
    fix="Unset them: they do nothing.",
)
def unknown(context: Context) -> Iterator[Finding]:
    """Whether a variable is set that looks like vLLM's and that no known release reads.

    Guides name such variables, and a letter is soon wrong. vLLM ignores them without a word, so
    what they promise does not happen.
    """
    named = _set(context)
    if not named:
        return
    table = load.variables()
    strange = [name for name in named if name not in table]
    if not strange:
        return
    last, *_, first = load.release_names()
    yield Finding(
        "env.vllm.unknown",
        "warn",
        f"no vLLM release reads {', '.join(strange)}",
        found=", ".join(f"{name}={named[name]}" for name in strange),
        expected="variables that a release reads",
        evidence=tuple(
            Evidence(f"{name}={named[name]}", f"environment; releases {first} to {last}")
            for name in strange
        ),
        remedy=Remedy(
            f"unset them: they do nothing{_alike(strange, table)}",
            (Command(unset=tuple(strange)),),
        ),
    )


def _alike(strange: list[str], table: Mapping[str, Recorded]) -> str:
    # Imported here: only a variable that nobody reads needs it.
    from difflib import get_close_matches  # noqa: PLC0415

    pairs = ((name, get_close_matches(name, table, 1, 0.9)) for name in strange)
    meant = [f"{name}: {close[0]}" for name, close in pairs if close]
    return f". Perhaps meant: {', '.join(meant)}" if meant else ""


@check(
    "env.vllm.dropped",
    "variables of other releases",
    reads=("environment",),
    fix="Unset them, and use what the release has instead, often a flag of vllm serve.",
)
def dropped(context: Context) -> Iterator[Finding]:
    """Whether a variable is set that other releases read, but not the one that is meant.

    A variable outlives the release that it was set for: it is ignored without a word, or it is of
    a release to come.
    """
    named = _set(context)
    if not named:
        return
    release = context.release.name
    if release not in load.release_names():
        return
    table = load.variables()
    for name, value in named.items():
        known = table.get(name)
        if known is None or known.within(release):
            continue
        yield Finding(
            "env.vllm.dropped",
            "warn",
            f"vLLM {release} does not read {name}: {_when(known, release)}",
            found=f"{name}={value}",
            expected="not set",
            evidence=(Evidence(f"{name}={value}", "environment"),),
            source=(known.place.source(f"{name} is read"),),
            remedy=Remedy(
                "unset it; what it chose is often a flag of vllm serve now",
                (Command(unset=(name,)),),
            ),
        )


def _when(known: Recorded, release: str) -> str:
    at = known.releases[release]
    following = [
        name for name, order in known.releases.items() if order > at and known.within(name)
    ]
    if following:
        return f"the next release with it is {following[0]}"
    return f"the last release with it is {known.newest}"
