"""A narrowed build with a test, up to the GPU that is not there."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from tests.doctor import machines

from dsv4_build import engine
from dsv4_build.progress import Progress
from dsv4_build.request import BuildRequest
from dsv4_build.trial.tryout import MODULES
from dsv4_doctor.cli.building import preflight, take_facts
from dsv4_doctor.errors import BuildError

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="has a GPU, where it would pass"),
]


def test_the_kernels_are_linked_loaded_and_called_and_the_driver_is_missed(
    real_cache: Path,
) -> None:
    request = BuildRequest(
        ("sm_90",),
        real_cache / "tested",
        recipe="smoke",
        only=("paged_attention_v2.cu",),
        gpu_test=True,
        work_dir=real_cache / "tested-work",
    )
    facts = replace(take_facts(request), gpus=(machines.gpu(compute_capability="9.0"),))
    with pytest.raises(BuildError, match=r"paged_attention_v2: RuntimeError: .*CUDA driver"):
        engine.build(request, facts, preflight, progress=Progress(StringIO()))
    assert not request.out.exists()
    assert [each.name for each in (real_cache / "tested-work" / MODULES).iterdir()] == ["_C"]
