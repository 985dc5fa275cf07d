"""The GPUs that a plan is for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.doctor import machines

from dsv4_doctor.errors import InputError, UsageError
from dsv4_doctor.facts.topology import Peer, Topology
from dsv4_doctor.knowledge.gpus import gpu_models
from dsv4_doctor.launch.machine import memory_of, named, of
from dsv4_doctor.snapshot import ProbeRun, Snapshot

HEALTHY = machines.healthy()


def gpus(*names: str) -> Snapshot:
    assert HEALTHY.gpus is not None
    first = HEALTHY.gpus[0]
    made = tuple(replace(first, index=index, name=name) for index, name in enumerate(names))
    return replace(HEALTHY, gpus=made)


def test_a_healthy_machine() -> None:
    found = of(HEALTHY, "here")
    assert (found.gpu, found.arch.sm, found.count) == ("NVIDIA H200", "sm_90", 2)
    assert found.memory == 143771 << 20
    assert found.notes == ()


def test_a_mixed_machine_is_planned_for_most_of_its_gpus() -> None:
    found = of(gpus("NVIDIA H200", "NVIDIA L40S", "NVIDIA H200"), "here")
    assert (found.gpu, found.count) == ("NVIDIA H200", 2)
    assert "planned is for 2 of 3 GPUs" in found.notes[0]


def test_mig_is_said() -> None:
    assert HEALTHY.gpus is not None
    parted = replace(HEALTHY, gpus=tuple(replace(each, mig=True) for each in HEALTHY.gpus))
    assert "MIG is on" in of(parted, "here").notes[0]


def test_nvlink_is_what_nvml_says_of_every_pair() -> None:
    for first, second, linked in (("OK", "OK", True), ("OK", "Not supported", False)):
        peers = (Peer(0, 1, "NODE", nvlink=first), Peer(0, 2, "NODE", nvlink=second))
        three = replace(gpus("a", "a", "a"), topology=Topology(peers))
        assert of(three, "here").linked is linked
    assert of(replace(HEALTHY, topology=None), "here").linked is None


def test_an_architecture_by_the_name_where_no_number_is_told() -> None:
    assert HEALTHY.gpus is not None
    untold = tuple(replace(each, compute_capability=None) for each in HEALTHY.gpus)
    assert of(replace(HEALTHY, gpus=untold), "here").arch.sm == "sm_90"
    strange = tuple(replace(each, name="?") for each in untold)
    with pytest.raises(InputError, match="does not tell the compute capability"):
        of(replace(HEALTHY, gpus=strange), "here")


@pytest.mark.parametrize("left", [None, ()])
def test_no_gpu(left: tuple[()] | None) -> None:
    run = ProbeRun("gpus", 0.1, "the driver is not loaded")
    empty = replace(HEALTHY, gpus=left, probes=(run,))
    with pytest.raises(InputError, match="here: no GPU to plan for: the driver is not loaded"):
        of(empty, "here")


@pytest.mark.parametrize(
    ("name", "gpu"),
    [
        ("H200", "H200 SXM5"),
        ("NVIDIA B200", "B200"),
        ("h100 sxm5", "H100 SXM5 80 GB"),
        ("RTX PRO 6000", "RTX PRO 6000 Blackwell"),
        ("rtx 5090", "GeForce RTX 5090"),
    ],
)
def test_a_gpu_by_its_name(name: str, gpu: str) -> None:
    assert named(name, 4).gpu == gpu


def test_names_that_mean_none_or_several() -> None:
    with pytest.raises(UsageError, match=r"is one of A100 PCIe 40 GB, .*: say which"):
        named("A100", 1)
    for name in ("", "H999", "RTX"):
        with pytest.raises(UsageError, match=r"unknown GPU|say which"):
            named(name, 1)
    for count in (0, -1, 65):
        with pytest.raises(UsageError, match="from 1 to 64"):
            named("H200", count)


def test_a_gpu_whose_memory_nobody_entered() -> None:
    model = next(each for each in gpu_models() if memory_of(each) is None)
    with pytest.raises(UsageError, match="nobody has entered the memory"):
        named(model.name, 1)


def test_memory_that_only_its_maker_prints_is_taken_with_less() -> None:
    assert named("H200", 1).notes == ()
    assert "less 2 percent" in named("GB200", 1).notes[0]
    both = [each for each in gpu_models() if each.memory and each.memory_gb]
    for each in both:
        assert memory_of(replace(each, memory=None)) <= memory_of(each)  # type: ignore[operator]
