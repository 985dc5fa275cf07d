"""Whether the release, the GPUs and the parallel sizes of a command fit the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.lint import checkpoint
from dsv4_doctor.lint.problem import Problem
from dsv4_doctor.lint.rules import number
from dsv4_doctor.lint.subject import DEEPSEEK_V4

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dsv4_doctor.lint.state import Value
    from dsv4_doctor.lint.subject import Against, Model

_TP, _PP = "--tensor-parallel-size", "--pipeline-parallel-size"
_DP, _LOCAL = "--data-parallel-size", "--data-parallel-size-local"


def of(values: Mapping[str, Value], model: Model | None, against: Against) -> Iterator[Problem]:
    """Say what does not fit."""
    if model is not None:
        if model.family == DEEPSEEK_V4:
            yield from _served(model, against)
            yield from checkpoint.of(values, model, against)
        yield from _split(values, model)
    yield from _enough(values, against)


def _served(model: Model, against: Against) -> Iterator[Problem]:
    release = against.requirements
    feature = release.features.get(DEEPSEEK_V4)
    if feature is None or not feature.present:
        first = f"; the first is {feature.first}" if feature is not None and feature.first else ""
        yield Problem(
            "lint.model.release",
            "fail",
            model.name,
            f"vLLM {release.name} does not serve DeepSeek-V4{first}",
            found=model.name,
            do="choose another release with --vllm",
            source=tuple(
                each.source("DeepSeek-V4") for each in (feature.places if feature else ())
            ),
        )
        return
    gpu = against.gpu
    if gpu is not None and feature.compute_majors and gpu.arch.major not in feature.compute_majors:
        served = ", ".join(f"{each}.x" for each in feature.compute_majors)
        yield Problem(
            "lint.model.gpu",
            "fail",
            model.name,
            f"vLLM {release.name} serves DeepSeek-V4 on compute capability {served},"
            f" and {gpu.name} has {gpu.arch.dotted}",
            found=gpu.name,
            expected=served,
            do="there is no flag that helps; another GPU or another model does",
            source=tuple(each.source(feature.note or "DeepSeek-V4") for each in feature.places),
        )


def _split(values: Mapping[str, Value], model: Model) -> Iterator[Problem]:
    value = values.get(_TP)
    size = number(value.text) if value is not None and value.text is not None else None
    if value is None or size is None:
        return
    said = ""
    backbone = model.backbone
    heads = model.heads or (int(backbone.heads.value) if backbone and backbone.heads else None)
    groups = model.groups or (
        int(backbone.o_groups.value) if backbone and backbone.o_groups else None
    )
    if heads and (size < 1 or heads % size):
        said = f"{heads} attention heads cannot be split over {size:g} GPUs"
    elif groups and groups % size:
        said = f"{groups} output groups cannot be split over {size:g} GPUs: none is left for each"
    if not said:
        return
    places = (backbone.heads, backbone.o_groups) if backbone and not model.origin else ()
    source = tuple(each.source(said) for each in places if each is not None)
    most = groups or heads
    given = value.given
    yield Problem(
        "lint.model.tensor-parallel",
        "fail",
        _TP,
        said + (f" ({model.origin})" if model.origin else ""),
        found=" ".join((given.word.text, *(() if given.attached else given.values))),
        expected=f"a divisor of {most}",
        do="lower it, and use more GPUs by --data-parallel-size with --enable-expert-parallel",
        line=given.word.line,
        source=source,
    )


def _enough(values: Mapping[str, Value], against: Against) -> Iterator[Problem]:
    count = against.gpu.count if against.gpu is not None else None
    if count is None or "--nnodes" in values or "--distributed-executor-backend" in values:
        return
    sizes = [
        _size(values, _TP),
        _size(values, _PP),
        _size(values, _LOCAL if _LOCAL in values else _DP),
    ]
    needed = sizes[0] * sizes[1] * sizes[2]
    if needed > count:
        yield Problem(
            "lint.gpu.count",
            "fail",
            _TP,
            f"the command needs {needed} GPUs, and the machine has {count}",
            found=str(needed),
            expected=f"at most {count}",
            do="lower the parallel sizes, or start it on more machines",
        )


def _size(values: Mapping[str, Value], name: str) -> int:
    value = values.get(name)
    found = number(value.text) if value is not None and value.text is not None else None
    return int(found) if found else 1
