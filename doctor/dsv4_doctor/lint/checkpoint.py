"""What the weights of DeepSeek-V4 ask of a command: a release, a length, a way to draft."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from dsv4_doctor.knowledge.places import Place
from dsv4_doctor.lint.problem import Problem
from dsv4_doctor.lint.rules import number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dsv4_doctor.knowledge.models import Checkpoint
    from dsv4_doctor.lint.state import Value
    from dsv4_doctor.lint.subject import Against, Model

_LENGTH, _METHOD = "--max-model-len", "--speculative-config.method"
_SHORT = "--spec-method"
# What --speculative-config calls the ways that checkpoints of the family draft.
_DRAFTS = {"mtp": "mtp", "deepseek_mtp": "mtp", "dspark": "dspark"}
_TOO_LONG = Place("vllm", "0.33.0", "vllm/config/model.py", 2657)


def of(values: Mapping[str, Value], model: Model, against: Against) -> Iterator[Problem]:
    """Say what does not fit the weights that the command names."""
    known = model.checkpoint
    yield from _length(values, model)
    if known is not None:
        yield from _release(known, against)
        yield from _draft(values, known)


def _release(known: Checkpoint, against: Against) -> Iterator[Problem]:
    feature = against.requirements.features.get("deepseek-v4")
    try:
        fits = known.vllm.contains(Version(against.release), prereleases=True)
    except InvalidVersion:
        return
    if fits or feature is None or not feature.present:
        return
    yield Problem(
        "lint.model.release",
        "fail",
        known.name,
        f"{known.name} needs vLLM {known.vllm}, and this is {against.release}",
        found=against.release,
        expected=str(known.vllm),
        do="choose another release with --vllm",
        source=(known.vllm_place.source(f"vLLM {known.vllm}"),),
    )


def _length(values: Mapping[str, Value], model: Model) -> Iterator[Problem]:
    value = values.get(_LENGTH)
    asked = number(value.text) if value is not None and value.text is not None else None
    most = model.context
    if most is None and model.backbone is not None:
        most = int(model.backbone.context.value)
    if value is None or asked is None or most is None or asked <= most:
        return
    yield Problem(
        "lint.model.length",
        "fail",
        _LENGTH,
        f"{asked:.0f} tokens are more than the {most} that the model was made for",
        found=value.text or "",
        expected=f"at most {most}",
        do="lower it; VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 only makes vLLM compute nonsense beyond",
        line=value.given.word.line,
        source=(_TOO_LONG.source("a longer one is refused"),),
    )


def _draft(values: Mapping[str, Value], known: Checkpoint) -> Iterator[Problem]:
    value = values.get(_METHOD) or values.get(_SHORT)
    if value is None or value.text is None or not known.draft:
        return
    method = _DRAFTS.get(value.text)
    if method is None or method == known.draft:
        return
    yield Problem(
        "lint.model.draft",
        "fail",
        _METHOD,
        f"{known.name} has weights for {known.draft}, and none for {value.text}",
        found=value.text,
        expected=known.draft,
        do=f"set the method to {known.draft}, or leave speculative decoding out",
        line=value.given.word.line,
        source=(known.place.source(f"its draft is {known.draft}"),),
    )
