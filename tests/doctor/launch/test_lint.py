"""What is planned passes ``lint``, which is made from the same release by other rules."""

from __future__ import annotations

from typing import Any

import pytest
from tests.doctor.launch import configs

from dsv4_doctor.knowledge.flags import flags_of
from dsv4_doctor.launch.machine import named
from dsv4_doctor.launch.plan import Plan
from dsv4_doctor.launch.planning import plan
from dsv4_doctor.launch.serving import serving
from dsv4_doctor.launch.source import Source, find
from dsv4_doctor.lint.invocations import in_words
from dsv4_doctor.lint.linting import judge
from dsv4_doctor.lint.model import Word
from dsv4_doctor.lint.subject import Against, gpu_named

RELEASES = ("0.11.0", "0.17.1", "0.20.0", "0.24.0", "0.26.0", "0.29.0", "0.31.0", "0.33.0")
MODELS = (
    "DeepSeek-V4-Flash", "DeepSeek-V4-Flash-0731", "DeepSeek-V4-Pro", "DeepSeek-V4-Pro-0813",
    "nvidia/DeepSeek-V4-Flash-NVFP4", "nvidia/DeepSeek-V4-Pro-NVFP4",
)  # fmt: skip


def problems(found: Plan, gpu: str) -> list[str]:
    against = Against(found.release, flags_of(found.release), gpu_named(gpu))
    [server] = in_words([Word(each) for each in found.argv])
    return [f"{each.id}: {each.status}" for each in judge(server, against).problems]


def sources() -> list[Source]:
    published = [find(name, {"HF_HOME": "/nowhere"}) for name in MODELS]
    return [*published, *(configs.source(each, name) for name, each in configs.ALL.items())]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("gpu", ["H200", "B200", "RTX PRO 6000"])
def test_every_planned_command_passes(release: str, gpu: str) -> None:
    goals: tuple[Any, ...] = ("throughput", "latency", "context")
    passed = 0
    for index, source in enumerate(sources()):
        goal = goals[(index + RELEASES.index(release)) % len(goals)]
        found = plan(source, named(gpu, 8), serving(release), goal)
        if found.fits:
            assert problems(found, gpu) == [], f"{found.model.name} {goal} {found.argv}"
            passed += 1
    assert passed
