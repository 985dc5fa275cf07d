"""The vLLM that is to serve: a known release, or a source tree that says itself what it takes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from dsv4_doctor.errors import UsageError
from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.flags import flag_of, flags_of
from dsv4_doctor.knowledge.named import named
from dsv4_doctor.releases import tables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from packaging.specifiers import SpecifierSet

    from dsv4_doctor.knowledge.flags import ServeFlag
    from dsv4_doctor.knowledge.model import Release

_known_flags = cache(flags_of)


@dataclass(frozen=True)
class Serving:
    """One vLLM.

    Attributes:
        release: Its requirements.
        flags: Those of ``vllm serve``.
        notes: What a reader should know of it.
    """

    release: Release
    flags: Mapping[str, ServeFlag]
    notes: tuple[str, ...] = ()


def serving(text: str) -> Serving:
    """Return the vLLM that a user names.

    Args:
        text: A known release, an sdist or a checkout.

    Raises:
        UsageError: The release is not known, or its flags are not.
        InputError: The source tree cannot be read.
    """
    release, notes = named(text)
    if not notes:
        return Serving(release, _known_flags(release.name))
    said = tables.of(release, text)
    if said is None:
        msg = f"{text}: its flags of `vllm serve` could not be read"
        raise UsageError(msg)
    flags = {name: flag_of(name, each.place, each.says) for name, each in said.flags.items()}
    newest = load.flag_releases()[-1]
    note = f"memory is counted as in vLLM {newest} or before: a tree does not tell how it counts"
    return Serving(release, flags, (*notes, note))


def default(served: SpecifierSet | None) -> Serving:
    """Return the default release, the newest one where that does not serve the model.

    Args:
        served: Releases that serve the model, ``None`` when nobody has entered them.
    """
    release = load.default_release()
    if served is not None and not served.contains(release.name):
        release = load.release(load.release_names()[0])
    return Serving(release, _known_flags(release.name))
