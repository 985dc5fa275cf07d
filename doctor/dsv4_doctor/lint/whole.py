"""What is wrong with a command line as a whole: words that belong to nothing, flags given twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.knowledge import lint as knowledge
from dsv4_doctor.lint.problem import Fix, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.lint.arguments import Given, Parsed
    from dsv4_doctor.lint.model import Kind, Word
    from dsv4_doctor.lint.subject import Against

_REPEATABLE = "repeated"
_MODEL = "--model"
# With these a command needs no model, or has it from elsewhere.
_NAMING = frozenset({_MODEL, "--config", "--headless"})


def model_of(parsed: Parsed, kind: Kind) -> Word | None:
    """Return the word that names the model, ``None`` where the command names none."""
    named = [
        given for given in parsed.given if given.flag is not None and given.flag.name == "--model"
    ]
    if named and named[-1].values:
        given = named[-1]
        if given.attached:
            word = given.word
            return type(word)(given.values[0], word.line, word.literal, word.raw)
        return parsed.words[given.last - 1]
    if kind == "module" or not parsed.positionals:
        return None
    return parsed.words[parsed.positionals[0]]


def unnamed(
    parsed: Parsed, kind: Kind, against: Against, beside: Parsed | None
) -> Iterator[Problem]:
    """Say that a command names no model, or not where the release looks for it.

    Args:
        parsed: The command.
        kind: How it starts the server.
        against: The release.
        beside: The options of the file of ``--config``.
    """
    given = (*parsed.given, *(beside.given if beside is not None else ()))
    names = {each.flag.name for each in given if each.flag is not None}
    told = all(word.literal for word in parsed.words)
    if parsed.positionals or not told or "--help" in names:
        return
    releases, place = knowledge.model_by_position()
    if kind == "serve" and releases.contains(against.release, prereleases=True):
        yield Problem(
            "lint.model.position",
            "fail",
            _MODEL,
            f"vLLM {against.release} takes the model only as the word after `vllm serve`",
            do="name the model there",
            source=(place.source("the word is required"),),
        )
    elif names.isdisjoint(_NAMING):
        yield _chosen(against)


def _chosen(against: Against) -> Problem:
    flag = against.flags.get(_MODEL)
    chosen = flag.default if flag is not None else None
    serves = f": vLLM {against.release} serves {chosen}" if isinstance(chosen, str) else ""
    return Problem(
        "lint.model.none",
        "warn",
        _MODEL,
        f"no model is named{serves}",
        do="name the model after `vllm serve`",
        source=(flag.place.source("what is served without a name"),) if flag and serves else (),
    )


def stray(parsed: Parsed, kind: Kind) -> Iterator[Problem]:
    """Give the words that no option takes: argparse ends with "unrecognized arguments"."""
    allowed = 0 if kind == "module" else 1
    for at in parsed.positionals[allowed:]:
        word = parsed.words[at]
        if not word.literal:
            continue
        if not word.text.strip():
            yield _blank(word)
            continue
        before = next((each for each in parsed.given if each.last == at), None)
        flag = before.flag if before is not None else None
        bare = flag is not None and flag.type in {"switch", "bool"} and before is not None
        after = f" after {before.name}, which takes no value" if bare and before else ""
        yield Problem(
            "lint.word.stray",
            "fail",
            word.text,
            f"{word.text!r} belongs to no flag{after}",
            found=word.text,
            do=_instead(word, before) if bare and before else "quote it with what it belongs to",
            line=word.line,
            fix=_truth(word, before, at) if bare and before else None,
        )


def _blank(word: Word) -> Problem:
    return Problem(
        "lint.word.blank",
        "fail",
        "a blank",
        "a backslash with a blank behind it does not continue the line: the command ends here",
        found=word.raw or repr(word.text),
        do="take out what follows the backslash, a comment, too",
        line=word.line,
    )


def _instead(word: Word, before: Given) -> str:
    if word.text.lower() == "true":
        return "leave the value out"
    if word.text.lower() == "false" and before.flag is not None and before.flag.negatives:
        return f"write {before.flag.negatives[0]}"
    return "leave it out"


def _truth(word: Word, before: Given, at: int) -> Fix | None:
    """A switch with a truth value behind it says plainly what is meant."""
    text = word.text.lower()
    if text == "true":
        return Fix(at, at + 1)
    if text == "false" and before.flag is not None and before.flag.negatives:
        return Fix(before.first, at + 1, (before.flag.negatives[0],))
    return None


def repeated(parsed: Parsed) -> Iterator[Problem]:
    """Give the flags that are given twice: the last one wins, and nothing says so."""
    seen: dict[str, Given] = {}
    for given in parsed.given:
        if given.flag is None or given.flag.nargs == _REPEATABLE or given.name.endswith("+"):
            continue
        # A dotted option that is JSON's own table of free keys is told apart by its name.
        key = given.name if given.dotted else given.flag.name
        before = seen.get(key)
        seen[key] = given
        if before is not None:
            yield _twice(before, given)
    yield from _overwritten(parsed)


def _twice(before: Given, given: Given) -> Problem:
    same = before.values == given.values and before.negative == given.negative
    opposite = before.negative != given.negative
    status = "lint.contradiction.opposite" if opposite else "lint.flag.repeated"
    name = given.flag.name if given.flag is not None else given.name
    title = f"{name} is given twice"
    if not same:
        title += f", and {given.name} {' '.join(given.values)}".rstrip() + " wins"
    return Problem(
        status,
        "warn",
        name,
        title,
        found=" ".join((before.word.text, *(() if before.attached else before.values))),
        do="keep one of them",
        line=before.word.line,
        # The last one wins, so that the first can go and nothing changes.
        fix=Fix(before.first, before.last) if before.known and given.known else None,
    )


def _overwritten(parsed: Parsed) -> Iterator[Problem]:
    """A JSON value and dotted keys of the same flag: vLLM appends the keys as a second value."""
    dotted = {
        given.flag.name.partition(".")[0]: given
        for given in parsed.given
        if given.dotted and given.flag is not None
    }
    for given in parsed.given:
        if given.flag is None or given.dotted or given.flag.name not in dotted:
            continue
        by = dotted[given.flag.name]
        yield Problem(
            "lint.flag.overwritten",
            "fail",
            given.flag.name,
            f"{by.name} makes a new value of {given.flag.name}, and the JSON before it is lost",
            found=" ".join((given.word.text, *(() if given.attached else given.values))),
            do="put all keys into the JSON, or give all of them with dots",
            line=given.word.line,
            source=(given.flag.place.source("the last value of a flag wins"),),
        )
