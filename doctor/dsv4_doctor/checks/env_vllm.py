"""Environment variables of vLLM that no release reads, or not the one that is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.report import Command, Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.knowledge.variables import Variables

_PREFIX = "VLLM_"


def _set(context: Context) -> dict[str, str]:
    """Return vLLM's variables as they are set, without those that its Dockerfile hands on."""
    environ = context.snapshot.environment or {}
    arguments = {name.upper() for name in context.release.docker}
    return {
        name: value
        for name, value in environ.items()
        if name.startswith(_PREFIX) and name not in arguments
    }


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
    table = _table()
    strange = [name for name in named if not table.read_in(name)]
    if not strange:
        return
    first, last = table.releases[0], table.releases[-1]
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
            (Command(argv=("unset", *strange)),),
        ),
    )


def _table() -> Variables:
    # Imported here: most machines set none of these variables.
    from dsv4_doctor.knowledge.variables import variables  # noqa: PLC0415

    return variables()


def _alike(strange: list[str], table: Variables) -> str:
    # Imported here: only a variable that nobody reads needs it.
    from difflib import get_close_matches  # noqa: PLC0415

    pairs = ((name, get_close_matches(name, table.table, 1, 0.9)) for name in strange)
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
    table = _table()
    release = context.release.name
    if not table.covers(release):
        return
    for name, value in named.items():
        others = table.read_in(name)
        if not others or release in others:
            continue
        gone = table.releases.index(others[-1]) < table.releases.index(release)
        when = f"the last release with it is {others[-1]}"
        if not gone:
            when = f"the next release with it is {_next(others, release, table)}"
        yield Finding(
            "env.vllm.dropped",
            "warn",
            f"vLLM {release} does not read {name}: {when}",
            found=f"{name}={value}",
            expected="not set",
            evidence=(Evidence(f"{name}={value}", "environment"),),
            source=(table.place(name).source(f"{name} is read"),),
            remedy=Remedy(
                "unset it; what it chose is often a flag of vllm serve now",
                (Command(argv=("unset", name)),),
            ),
        )


def _next(others: tuple[str, ...], release: str, table: Variables) -> str:
    at = table.releases.index(release)
    return next(each for each in others if table.releases.index(each) > at)
