"""Every option of a command line against what the release takes."""

from __future__ import annotations

import difflib
from itertools import pairwise
from typing import TYPE_CHECKING

from dsv4_doctor.knowledge import lint as knowledge
from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.flags import IGNORED, find
from dsv4_doctor.lint import values
from dsv4_doctor.lint.problem import Fix, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.citation import Source
    from dsv4_doctor.knowledge.flags import ServeFlag
    from dsv4_doctor.knowledge.history import Recorded
    from dsv4_doctor.knowledge.places import Place
    from dsv4_doctor.lint.arguments import Given
    from dsv4_doctor.lint.subject import Against

# Where the values of the old flag go.
_VALUE = "{value}"
_BARE = frozenset({"switch", "bool"})


def of(given: Given, against: Against) -> Iterator[Problem]:
    """Say what is wrong with one option."""
    if given.how == "ambiguous":
        yield _ambiguous(given, against)
    elif given.flag is None:
        yield _absent(given, against)
    else:
        if given.how == "abbreviated":
            yield _abbreviated(given, given.flag)
        yield from _status(given, given.flag, against)
        yield from _value(given, given.flag, against)


def _ambiguous(given: Given, against: Against) -> Problem:
    names = ", ".join(given.candidates)
    return Problem(
        "lint.flag.ambiguous",
        "fail",
        given.name,
        f"{given.name} is an abbreviation of {names}, and the parser does not choose",
        found=given.word.text,
        expected=names,
        do="write the one that is meant in full",
        line=given.word.line,
        source=_places([against.flags[each] for each in given.candidates if each in against.flags]),
    )


def _places(flags: list[ServeFlag]) -> tuple[Source, ...]:
    return tuple(each.place.source(f"{each.name} is declared") for each in flags)


def _abbreviated(given: Given, flag: ServeFlag) -> Problem:
    # An abbreviation of a flag's opposite must stay one.
    head = given.candidates[0] if given.candidates else flag.name
    rest = given.name.partition(".")
    full = head + rest[1] + rest[2]
    word = given.word.text.partition("=")
    return Problem(
        "lint.flag.abbreviated",
        "warn",
        flag.name,
        f"{given.name} is taken as {full} because no other flag begins so",
        found=given.word.text,
        expected=full,
        do="write it in full: the next flag that begins so makes the server refuse it",
        line=given.word.line,
        source=_places([flag]),
        fix=Fix(given.first, given.first + 1, (full + word[1] + word[2],)),
    )


def _absent(given: Given, against: Against) -> Problem:
    """The release has no such flag: others have it, or none does."""
    name = _canonical(given.name, against)
    recorded = _recorded(name)
    if recorded is not None:
        return _other_release(given, recorded, against)
    known = knowledge.instead().get(name)
    close = _close(name, against)
    owner, dot, key = name.partition(".")
    is_key = bool(dot) and owner in against.flags
    return Problem(
        "lint.flag.key" if is_key else "lint.flag.unknown",
        "fail",
        name,
        f"{owner} has no key {key}" if is_key else f"no release of vLLM has {name}",
        found=given.word.text,
        expected=", ".join(close),
        do=known.says if known else f"did you mean {close[0]}?" if close else "leave it out",
        line=given.word.line,
        source=()
        if known is None or known.place is None
        else (known.place.source("what does its job"),),
    )


def _canonical(name: str, against: Against) -> str:
    """Return a key with its flag's own name before it, for one that is given by an alias."""
    head, dot, key = name.partition(".")
    if not dot:
        return name
    owner = find(against.flags, head) or _recorded(head)
    return f"{owner.name}.{key.removesuffix('+')}" if owner is not None else name


def _recorded(name: str) -> Recorded | None:
    """What other releases say of a name, in the newest of them that has it."""
    table = load.flags()
    if name in table:
        return table[name]
    for each in table.values():
        says = each.says(each.newest) or {}
        if name in (*says.get("aliases", ()), *says.get("negatives", ())):
            return each
    return None


def _when(recorded: Recorded, name: str, against: Against) -> tuple[bool, str, Place]:
    """Whether a name is gone, the sentence that says when, and where it was or will be."""
    having = [each for each in recorded.releases if _has(recorded, each, name)]
    earlier = [each for each in having if recorded.releases[each] < against.position]
    if earlier:
        following = dict(pairwise(recorded.releases))
        since = following.get(earlier[-1], against.release)
        title = f"{name} is gone since vLLM {since}; the last release with it is {earlier[-1]}"
        return True, title, recorded.place_in(earlier[-1])
    title = f"vLLM {against.release} does not have {name} yet; the first is {having[0]}"
    return False, title, recorded.place_in(having[0])


def _has(recorded: Recorded, release: str, name: str) -> bool:
    """Whether a release has an option under this very name, be it another one of a flag's."""
    says = recorded.says(release)
    if says is None:
        return False
    own = name == recorded.name or "." in name
    return own or name in (*says.get("aliases", ()), *says.get("negatives", ()))


def _other_release(given: Given, recorded: Recorded, against: Against) -> Problem:
    earlier, title, place = _when(recorded, given.name, against)
    known = knowledge.instead().get(recorded.name)
    last = (recorded.says(place.release) or {}) if earlier else {}
    do = known.says if known else last.get("why", "") or "leave it out"
    source = [place.source(f"{given.name} is declared")]
    if known is not None and known.place is not None:
        source.append(known.place.source("what does its job"))
    return Problem(
        "lint.flag.removed" if earlier else "lint.flag.future",
        "fail",
        recorded.name,
        title,
        found=given.word.text,
        expected="",
        do=do,
        line=given.word.line,
        source=tuple(source),
        fix=_replaced(given, recorded, known, against) if earlier else None,
    )


def _replaced(
    given: Given, recorded: Recorded, known: knowledge.Instead | None, against: Against
) -> Fix | None:
    """The same with what replaced a flag, where the release has that and the values fit in."""
    if known is None or known.words is None or given.name != recorded.name or not given.known:
        return None
    if _VALUE in known.words and not given.values:
        return None
    words = _put(known.words, given.values)
    if words and find(against.flags, words[0]) is None:
        return None
    return Fix(given.first, given.last, words)


def _put(words: tuple[str, ...], values: tuple[str, ...]) -> tuple[str, ...]:
    """Put the values of the old flag where they go in the new one."""
    return tuple(each for word in words for each in (values if word == _VALUE else (word,)))


def _close(name: str, against: Against) -> list[str]:
    names = [
        option
        for each in against.flags.values()
        if ("." in name) == ("." in each.name)
        for option in (each.name, *each.negatives)
        if option.startswith("--")
    ]
    return difflib.get_close_matches(name, names, n=2, cutoff=0.75)


def _status(given: Given, flag: ServeFlag, against: Against) -> Iterator[Problem]:
    if not flag.status:
        return
    ignored = flag.status == IGNORED
    known = knowledge.instead().get(flag.name)
    does = "does nothing" if ignored else "is deprecated"
    fix = None
    if ignored:
        fix = Fix(given.first, given.last)
    elif known is not None and known.words is not None and given.known:
        fix = _deprecated_fix(given, known, against)
    yield Problem(
        f"lint.flag.{flag.status}",
        "warn",
        flag.name,
        f"{flag.name} {does} in vLLM {flag.place.release}",
        found=given.word.text,
        do=known.says if known else flag.why or "leave it out",
        line=given.word.line,
        source=(flag.place.source(flag.why or f"{flag.name} {does}"),),
        fix=fix,
    )


def _deprecated_fix(given: Given, known: knowledge.Instead, against: Against) -> Fix | None:
    words = _put(known.words or (), given.values)
    if given.negative or (words and find(against.flags, words[0]) is None):
        return None
    return Fix(given.first, given.last, words)


def _value(given: Given, flag: ServeFlag, against: Against) -> Iterator[Problem]:
    said = _wrong(given, flag)
    if said:
        yield Problem(
            "lint.flag.value",
            "fail",
            flag.name,
            f"{given.name}: {said}",
            found=" ".join((given.word.text, *(() if given.attached else given.values))),
            expected=", ".join(flag.choices) or flag.type,
            do="give it a value that the release takes",
            line=given.word.line,
            source=_places([flag]),
        )
    if not given.known or not given.values or said:
        return
    if "json" in flag.type:
        for path, reason in values.wrong_keys(against.flags, flag, given.values[0]):
            recorded = load.flags().get(path)
            known = knowledge.instead().get(path)
            gone = recorded is not None and find(against.flags, path) is None
            title = _when(recorded, path, against)[1] if recorded and gone else f"{path}: {reason}"
            yield Problem(
                "lint.flag.key",
                "fail",
                path,
                title,
                found=given.values[0],
                do=known.says if known else "correct or remove the key",
                line=given.word.line,
                source=_places([flag]),
            )


def _wrong(given: Given, flag: ServeFlag) -> str:
    if given.dotted:
        return _wrong_key(given, flag)
    if flag.name == "--help":
        return ""  # A group, a flag or a word to look for may follow after "=".
    if flag.type in _BARE:
        return f"it takes no value, and {given.values[0]!r} is given" if given.values else ""
    if not given.values:
        return "" if flag.nargs in {"?", "*"} else "a value must follow"
    reasons = (values.wrong(flag, each) for each in given.values) if given.known else iter(())
    return next(filter(None, reasons), "")


def _wrong_key(given: Given, flag: ServeFlag) -> str:
    if not given.values:
        return "a value must follow"
    own = flag.name.count(".") == given.name.count(".")
    return values.wrong_leaf(flag, values.leaf(given.values[0])) if given.known and own else ""
