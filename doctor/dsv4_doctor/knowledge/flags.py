"""The flags of ``vllm serve`` in one release, and which of them a word of a command line is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dsv4_doctor.errors import UsageError
from dsv4_doctor.knowledge import load
from dsv4_doctor.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsv4_doctor.knowledge.history import Json
    from dsv4_doctor.knowledge.places import Place

# The status of a flag that is accepted and does nothing.
IGNORED = "ignored"


@dataclass(frozen=True)
class ServeFlag:
    """One flag of one release, as its parser takes it.

    Attributes:
        name: Such as ``--max-model-len``; ``--attention-config.backend`` for a key of a JSON value.
        place: Where it is declared.
        type: ``switch`` takes no value, ``bool`` has opposite flags, ``size`` takes ``1k``,
            ``other`` is read by a function of vLLM's own; empty when not established.
        nargs: As in argparse, or ``repeated``; ``None`` for one value.
        default: As JSON; an expression that only running vLLM gives is ``{"expression": TEXT}``.
        default_known: Whether the default was established.
        choices: What it takes, as far as was established.
        open: Whether it takes other values than the choices.
        aliases: Other names, such as ``-q``.
        negatives: Flags that set it to false.
        status: ``deprecated``, or ``ignored`` for one that is accepted and does nothing; empty for
            one that works.
        why: What the release says of that.
        first: First known release of the unbroken run that this release is in.
        last: Last known release of that run.
    """

    name: str
    place: Place
    type: str = ""
    nargs: str | int | None = None
    default: Any = None
    default_known: bool = False
    choices: tuple[str, ...] = ()
    open: bool = False
    aliases: tuple[str, ...] = ()
    negatives: tuple[str, ...] = ()
    status: str = ""
    why: str = ""
    first: str = ""
    last: str = ""


def flags_of(release: str) -> dict[str, ServeFlag]:
    """Return the flags of a known release by name.

    Raises:
        UsageError: The flags of this release are not known.
    """
    if release not in load.flag_releases():
        msg = f"the flags of vLLM {release} are not known"
        raise UsageError(msg, hint=f"known: {', '.join(reversed(load.flag_releases()))}")
    found = {}
    for name, each in load.flags().items():
        says = each.says(release)
        if says is not None:
            span = next(one for one in each.spans if each.inside(one, release))
            found[name] = flag_of(name, each.place_in(release), says, span)
    return found


def flag_of(name: str, place: Place, says: Json, span: tuple[str, str] = ("", "")) -> ServeFlag:
    """Return a flag from what a table, or a source tree, says of it."""
    return ServeFlag(
        name=name,
        place=place,
        type=says.get("type", ""),
        nargs=says.get("nargs"),
        default=says.get("default"),
        default_known="default" in says,
        choices=tuple(says.get("choices", ())),
        open=says.get("open", False),
        aliases=tuple(says.get("aliases", ())),
        negatives=tuple(says.get("negatives", ())),
        status=says.get("status", ""),
        why=says.get("why", ""),
        first=span[0],
        last=span[1],
    )


def find(flags: Mapping[str, ServeFlag], word: str) -> ServeFlag | None:
    """Return the flag that a word of a command line is, ``None`` when there is none.

    As vLLM's parser does, underscores before the first dot count as dashes, and a value may
    follow after ``=``. Abbreviations, which argparse takes, are not looked for.

    Args:
        flags: Those of one release.
        word: Such as ``--max_model_len=4096``, ``-q`` or ``--no-enable-prefix-caching``.
    """
    text = word.partition("=")[0]
    if text.startswith("--"):
        head, dot, rest = text.partition(".")
        text = head.replace("_", "-") + dot + rest
    names: dict[str, ServeFlag] = {}
    for each in flags.values():
        names |= dict.fromkeys((each.name, *each.aliases, *each.negatives), each)
    found = names.get(text) or _nested(names, text)
    # Of the short flags, this one takes its value without a space.
    return found or (names.get("-O") if text.startswith("-O") else None)


def _nested(names: Mapping[str, ServeFlag], text: str) -> ServeFlag | None:
    """The flag that takes a key of a JSON value: the key's own, or that of a table of free keys."""
    head, dot, rest = text.partition(".")
    owner = names.get(head)
    if owner is None or not dot:
        return None
    # An element may be appended to a list with "+".
    wanted = f"{owner.name}.{rest.removesuffix('+')}"
    while wanted not in names and "." in wanted:
        wanted = wanted.rpartition(".")[0]
    found = names[wanted]
    whole = wanted == f"{owner.name}.{rest.removesuffix('+')}"
    free = "json" in found.type and not any(name.startswith(f"{wanted}.") for name in names)
    return found if whole or free else None
