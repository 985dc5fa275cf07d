"""The commands that `launch` plans have nothing that `lint` finds wrong."""

from __future__ import annotations

import pytest

from dsv4_doctor.formats import launch_shell
from dsv4_doctor.knowledge import models
from dsv4_doctor.launch import machine
from dsv4_doctor.launch.planning import plan
from dsv4_doctor.launch.serving import serving
from dsv4_doctor.launch.source import find
from dsv4_doctor.lint import documents
from dsv4_doctor.lint.linting import judge
from dsv4_doctor.lint.subject import against, gpu_named

# Of these the plan says that it cannot be made.
UNPLANNED = frozenset({"DeepseekV4ForConditionalGeneration", "DeepseekV41ForCausalLM"})
NAMES = [each.name for each in models.family().checkpoints if each.architecture not in UNPLANNED]


@pytest.mark.parametrize("release", ["0.25.1", "0.33.0"])
@pytest.mark.parametrize("gpu", ["H200 SXM5", "B200", "RTX PRO 6000 Blackwell"])
def test_a_planned_command_is_clean(gpu: str, release: str) -> None:
    held, _ = against(release, gpu_named(gpu))
    linted = 0
    for name in NAMES:
        for goal in ("throughput", "latency"):
            made = plan(find(name, {}), machine.named(gpu, 8), serving(release), goal, None)
            if made.fits:
                for each in documents.read(launch_shell.render(made), "start.sh"):
                    assert judge(each, held).problems == ()
                    linted += 1
    assert linted > 5
