"""Flags that do not go together, or not with a model or a GPU: rules that are data."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from dsv4_doctor.knowledge import lint as knowledge
from dsv4_doctor.lint.problem import Fix, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dsv4_doctor.knowledge.lint import Condition, Rule
    from dsv4_doctor.lint.model import Setting
    from dsv4_doctor.lint.state import Value
    from dsv4_doctor.lint.subject import Against, Model

_SIZE = re.compile(r"(\d+(?:\.\d+)?)([kmgtKMGT]?)", re.ASCII)


def of(
    values: Mapping[str, Value],
    environment: Mapping[str, Setting],
    model: Model | None,
    against: Against,
) -> Iterator[Problem]:
    """Give what the rules say of a command."""
    for rule in knowledge.rules():
        if _applies(rule, model, against) and all(
            _holds(each, values, environment) for each in rule.when
        ):
            yield _problem(rule, values, environment)


def _applies(rule: Rule, model: Model | None, against: Against) -> bool:
    try:
        release = Version(against.release)
    except InvalidVersion:
        return False
    if not rule.releases.contains(release, prereleases=True):
        return False
    if rule.model and (model is None or model.family != rule.model):
        return False
    if not rule.capabilities:
        return True
    return against.gpu is not None and against.gpu.among(rule.capabilities)


def _holds(
    condition: Condition, values: Mapping[str, Value], environment: Mapping[str, Setting]
) -> bool:
    if condition.variable:
        setting = environment.get(condition.variable)
        text = None if setting is None else setting.value
        return text is not None and (
            condition.matches is None or bool(condition.matches.search(text))
        )
    value = values.get(condition.flag)
    if not condition.given:
        return value is None or value.text == "false"
    if value is None or value.text is None:
        return False
    if condition.among and value.text not in condition.among:
        return False
    if value.text in condition.except_for:
        return False
    return not condition.above or _above(value.text, values.get(condition.above))


def _above(text: str, other: Value | None) -> bool:
    mine = number(text)
    theirs = number(other.text) if other is not None and other.text is not None else None
    return mine is not None and theirs is not None and mine > theirs


def number(text: str) -> float | None:
    """Return a number as vLLM reads it: ``1k`` is 1000, ``1K`` is 1024."""
    match = _SIZE.fullmatch(text)
    if match is None:
        return None
    power = "kmgt".find(match[2].lower()) + 1 if match[2] else 0
    return float(match[1]) * (1024.0 if match[2].isupper() else 1000.0) ** power


def _problem(
    rule: Rule, values: Mapping[str, Value], environment: Mapping[str, Setting]
) -> Problem:
    first = rule.when[0]
    if first.variable:
        setting = environment[first.variable]
        return Problem(
            rule.id,
            rule.status,
            first.variable,
            rule.says,
            found=f"{setting.name}={setting.value}",
            do=rule.do,
            line=setting.line,
            source=(rule.place.source("decided there"),),
        )
    value = values[first.flag]
    given = value.given
    fix = None
    if rule.drop and not given.dotted:
        fix = Fix(given.first, given.last)
    elif rule.value and not given.dotted:
        fix = Fix(given.first, given.last, (given.name, rule.value))
    return Problem(
        rule.id,
        rule.status,
        first.flag,
        rule.says,
        found=" ".join((given.word.text, *(() if given.attached else given.values))),
        expected=rule.value,
        do=rule.do,
        line=given.word.line,
        source=(rule.place.source("decided there"),),
        fix=fix,
    )
