"""Flags of ``vllm serve`` and kernels that a release must have, for the search over releases."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from packaging.specifiers import SpecifierSet

from dsv4_doctor.arch import Arch
from dsv4_doctor.errors import UsageError
from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.flags import IGNORED, find, flags_of
from dsv4_doctor.knowledge.model import Feature, accepts
from dsv4_doctor.releases.obstacle import Obstacle

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dsv4_doctor.knowledge.history import Json, Recorded
    from dsv4_doctor.knowledge.model import Release

_EVERY = "*"
_PTX = "+PTX"


def parse_flags(texts: Sequence[str]) -> tuple[str, ...]:
    """Check flags from a command line.

    Raises:
        UsageError: No known release has one of them; the message names some that look like it.
    """
    for text in texts:
        if not any(find(flags_of(name), text) for name in load.flag_releases()):
            msg = f"no known vLLM release has the flag {text!r}{_like(text, load.flags())}"
            raise UsageError(msg)
    return tuple(dict.fromkeys(texts))


def parse_kernels(texts: Sequence[str]) -> tuple[str, ...]:
    """Check names of kernel groups from a command line.

    Raises:
        UsageError: No known release compiles one of them; the message names some that look like it.
    """
    names = [part.strip() for text in texts for part in text.split(",") if part.strip()]
    for name in names:
        if name not in load.compiled():
            msg = f"no known vLLM release compiles {name!r}{_like(name, load.compiled())}"
            raise UsageError(
                msg, hint="dsv4-doctor releases show RELEASE --topic kernels lists them"
            )
    return tuple(dict.fromkeys(names))


def _like(text: str, names: Iterable[str]) -> str:
    similar = difflib.get_close_matches(text, list(names), n=3)
    return f"; did you mean {', '.join(similar)}?" if similar else ""


def of_flag(release: Release, word: str) -> Iterator[Obstacle]:
    """Say what is in the way of a flag in a release."""
    if release.name not in load.flag_releases():
        yield Obstacle(f"whether it has {word} is not known", None)
        return
    flag = find(flags_of(release.name), word)
    if flag is None:
        text = word.partition("=")[0]
        recorded = load.flags().get(text)
        when = f": {_when(recorded, release)}" if recorded is not None else ""
        yield Obstacle(f"no {text}{when}", recorded.place if recorded is not None else None)
    elif flag.status == IGNORED:
        yield Obstacle(f"{flag.name} does nothing: {flag.why}", flag.place)


def of_kernels(release: Release, name: str, archs: Sequence[Arch], nvcc: str) -> Iterator[Obstacle]:
    """Say what is in the way of a group of kernels in a release.

    Args:
        release: The release.
        name: Of the group.
        archs: Architectures that it must have kernels for.
        nvcc: Version of the compiler.
    """
    recorded = load.compiled()[name]
    says = recorded.says(release.name)
    if says is None:
        yield Obstacle(f"no {name}: {_when(recorded, release)}", recorded.place)
        return
    place = recorded.place_in(release.name)
    if "archs" not in says:
        yield Obstacle(f"for which architectures {name} is compiled was not established", place)
        return
    compiled = _archs(says, nvcc)
    if compiled is None:
        yield Obstacle(f"{name} is not compiled by nvcc {nvcc}", place)
        return
    for arch in archs:
        if not compiled.has_kernels_for(arch):
            yield Obstacle(f"{name} does not run on {arch.sm}", place)


def _archs(says: Json, nvcc: str) -> Feature | None:
    for specifier, text in says["archs"].items():
        if accepts(SpecifierSet(specifier), nvcc):
            entries = [] if _EVERY in text.split() else text.split()
            return Feature(
                name="",
                present=True,
                places=(),
                archs=tuple(Arch.parse(each.removesuffix(_PTX)) for each in entries),
                ptx=tuple(
                    Arch.parse(each.removesuffix(_PTX)) for each in entries if each.endswith(_PTX)
                ),
            )
    return None


def _when(recorded: Recorded, release: Release) -> str:
    """The release that is next to this one and has it."""
    at = recorded.releases.get(release.name, -1)
    later = [first for first, _ in recorded.spans if recorded.releases[first] > at]
    earlier = [last for _, last in recorded.spans if recorded.releases[last] < at]
    if earlier:
        return f"the last release with it is {earlier[-1]}"
    return f"the first release with it is {later[0]}"
