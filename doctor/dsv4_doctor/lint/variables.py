"""The environment of a command against what the release, NCCL, torch and CUDA read."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from dsv4_doctor.knowledge import lint as knowledge
from dsv4_doctor.knowledge import load
from dsv4_doctor.lint.problem import Fix, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dsv4_doctor.knowledge.history import Recorded
    from dsv4_doctor.knowledge.lint import Extern
    from dsv4_doctor.knowledge.places import Place
    from dsv4_doctor.lint.model import Setting
    from dsv4_doctor.lint.subject import Against

_VLLM = "VLLM_"
_CLOSE = 0.85


def of(environment: Mapping[str, Setting], against: Against) -> Iterator[Problem]:
    """Say what is wrong with the variables that are set."""
    handed_on = {name.upper() for name in load.docker()}
    for setting in environment.values():
        if against.tree is not None and setting.name in against.tree.variables:
            continue
        recorded = load.variables().get(setting.name)
        extern = next((e for e in knowledge.externs() if setting.name.startswith(e.prefix)), None)
        if extern is not None and setting.name in extern.names:
            continue
        if recorded is not None:
            yield from _known(setting, recorded, against, extern)
        elif setting.name.startswith(_VLLM) and setting.name not in handed_on:
            yield _unread(setting, tuple(load.variables()), "no release of vLLM", "warn")
        elif extern is not None:
            yield _not_of(setting, extern)


def _known(
    setting: Setting, recorded: Recorded, against: Against, extern: Extern | None
) -> Iterator[Problem]:
    says = against.variable(recorded)
    if says is not None:
        place = recorded.place if against.tree else recorded.place_in(against.release)
        yield from _choice(setting, says, place)
        return
    # A variable with another prefix has other readers, too.
    if not setting.name.startswith(_VLLM) and extern is None:
        return
    at = against.position
    later = [first for first, _ in recorded.spans if recorded.releases[first] > at]
    when = (
        f"the first release with it is {later[0]}"
        if later
        else (f"the last release with it is {recorded.newest}")
    )
    known = knowledge.instead().get(setting.name)
    source = [recorded.place.source(f"{setting.name} is read")]
    if known is not None and known.place is not None:
        source.append(known.place.source(known.says))
    yield Problem(
        "lint.variable.dropped",
        "warn",
        setting.name,
        f"vLLM {against.release} does not read {setting.name}: {when}",
        found=f"{setting.name}={setting.value or ''}",
        do=known.says if known else "unset it: it does nothing",
        line=setting.line,
        source=tuple(source),
        fix=Fix(unset=setting.name),
    )


def _choice(setting: Setting, says: Mapping[str, Any], place: Place) -> Iterator[Problem]:
    choices = says.get("choices", ())
    if not choices or not setting.value or setting.value.lower() in map(str.lower, choices):
        return
    yield Problem(
        "lint.variable.value",
        "fail",
        setting.name,
        f"{setting.name} takes {', '.join(choices)}, and {setting.value!r} is given",
        found=f"{setting.name}={setting.value}",
        expected=", ".join(choices),
        do="set one of them, or unset it",
        line=setting.line,
        source=(place.source(f"{setting.name} is read"),),
    )


def _not_of(setting: Setting, extern: Extern) -> Problem:
    close = difflib.get_close_matches(setting.name, extern.names, n=1, cutoff=_CLOSE)
    # Many programs have variables of their own that begin with CUDA_.
    certain = extern.reader != "CUDA" or bool(close)
    who = f"nothing known of {extern.reader}"
    problem = _unread(setting, tuple(extern.names), who, "warn" if certain else "unknown")
    sources = tuple(each.source(f"what {extern.reader} reads") for each in extern.places)
    return Problem(**{**vars(problem), "source": sources})


def _unread(setting: Setting, names: tuple[str, ...], who: str, status: str) -> Problem:
    close = difflib.get_close_matches(setting.name, names, n=2, cutoff=_CLOSE)
    return Problem(
        "lint.variable.unknown",
        "warn" if status == "warn" else "unknown",
        setting.name,
        f"{who} reads {setting.name}",
        found=f"{setting.name}={setting.value or ''}",
        expected=", ".join(close),
        do=f"did you mean {' or '.join(close)}?" if close else "unset it: it does nothing",
        line=setting.line,
        fix=None if close or status != "warn" else Fix(unset=setting.name),
    )
