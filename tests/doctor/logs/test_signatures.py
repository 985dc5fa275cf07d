"""Each signature against its own examples: what it names, and what only looks like it."""

from __future__ import annotations

import io
import re
from fnmatch import fnmatchcase

import pytest

from dsv4_doctor.checks.registry import all_checks
from dsv4_doctor.knowledge import signature as known
from dsv4_doctor.knowledge.signature import Example, Signature
from dsv4_doctor.logs.session import diagnose

EVERY = known.signatures()
EXAMPLES = [(each, example) for each in EVERY for example in each.examples]
JUDGED = [each for each in EVERY if each.role in {"cause", "hint", "remark"}]


def _name(value: object) -> str | None:
    return value.id if isinstance(value, Signature) else None


@pytest.mark.parametrize(("signature", "example"), EXAMPLES, ids=_name)
def test_example_is_named_as_said(signature: Signature, example: Example) -> None:
    found = diagnose(io.BytesIO(example.text.encode()), "example")
    named = [each.id for each in (*found.causes, *found.hints)]
    named += [each.id for each in found.remarks]
    assert (named[0] if named else "") == example.names
    for each in (*found.causes, *found.hints):
        assert "not said" not in each.explanation + (each.remedy.text if each.remedy else "")


@pytest.mark.parametrize("family", known.FAMILIES)
def test_judged_signature_is_complete(family: str) -> None:
    for each in (each for each in JUDGED if each.family == family):
        names = {example.names for example in each.examples}
        assert each.id in names, each.id
        assert names - {each.id}, f"{each.id} has no look-alike"
        assert each.cause, each.id
        assert each.remedy is not None or each.role == "remark", each.id
        assert each.sources, each.id
        # What only repeats a program's words, or is no verdict, has nothing to be confused with.
        assert each.role in {"hint", "remark"} or each.weight < 20 or each.look_alike, each.id


@pytest.mark.parametrize("family", known.FAMILIES)
def test_signature_is_well_formed(family: str) -> None:
    for each in (each for each in EVERY if each.family == family):
        assert re.fullmatch(r"[a-z0-9-]+(?:\.[a-z0-9-]+){1,2}", each.id)
        assert each.role in known.ROLES
        assert each.stage in known.STAGES
        assert each.confidence in known.CONFIDENCES
        for literal in each.literals:
            # JSON lines escape quotes and backslashes, and what is not ASCII.
            assert literal.isascii()
            # The one with a backslash stands in both.
            assert literal == "u0000\\" or not set(literal) & {'"', "\\"}, literal
            assert each.at_end or len(literal) >= 3, literal
        for pattern in (*each.patterns, *each.unless, *each.beside):
            assert not re.search(r"[+*}]\)[+*{]", pattern.pattern), pattern.pattern


def test_facts_in_words_are_named_by_a_pattern() -> None:
    told = {"cuda", "package", "arch"}
    for each in EVERY:
        named = {name for pattern in each.patterns for name in pattern.groupindex}
        remedy = each.remedy
        words = [each.cause, remedy.text if remedy else ""]
        for command in remedy.commands if remedy else ():
            words += [*command.argv, *(command.env or {}).values()]
        for text in words:
            assert set(known.FACT.findall(text)) <= named | told, (each.id, text)
            assert "[[" not in known.OPTIONAL.sub("", text), (each.id, text)


def test_named_checks_exist() -> None:
    ids = [each.id for each in all_checks()]
    # Some checks give several findings, whose ids only they know.
    several = ("feature.", "build.tools.")
    for each in EVERY:
        known_id = any(found == each.check or found.startswith(f"{each.check}.") for found in ids)
        assert not each.check or known_id or each.check.startswith(several), (each.id, each.check)


def test_ids_are_unique() -> None:
    ids = [each.id for each in EVERY]
    assert len(set(ids)) == len(ids)


def test_explained_ids_exist() -> None:
    ids = [each.id for each in EVERY]
    for each in EVERY:
        for pattern in each.explains:
            assert any(fnmatchcase(found, pattern) for found in ids), pattern
