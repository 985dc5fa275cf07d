"""Where the weights lie."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.doctor.launch.configs import GIB, LLAMA_8B, machine, source

from dsv4_doctor.facts.resources import Disk, Place
from dsv4_doctor.launch.machine import Machine
from dsv4_doctor.launch.plan import Plan
from dsv4_doctor.launch.planning import plan
from dsv4_doctor.launch.serving import serving
from dsv4_doctor.launch.source import find

FLAG = "--safetensors-load-strategy"


def on(filesystem: str, kind: str, *, memory: int = 512, free: int = 4096) -> Machine:
    place = Place("model", "/models", filesystem=filesystem, free=free * GIB, disk=Disk(kind=kind))
    return replace(machine(), storage=place, host_memory=memory * GIB)


def made(here: Machine, release: str = "0.33.0", **config: Any) -> Plan:
    return plan(source({**LLAMA_8B, **config}), here, serving(release), "throughput")


def said(found: Plan) -> str:
    return " ".join(each.reason for each in found.left_out if each.flag == FLAG)


@pytest.mark.parametrize(
    ("filesystem", "kind", "release", "given"),
    [
        ("ext4", "nvme", "0.33.0", False),
        ("9p", "host share", "0.33.0", True),
        ("ceph", "network", "0.33.0", True),
        ("nfs4", "network", "0.33.0", False),
        ("nfs4", "network", "0.19.1", True),
        ("lustre", "network", "0.20.0", False),
        ("ceph", "network", "0.17.1", False),
    ],
)
def test_reading_ahead_is_asked_for_where_it_helps_and_is_not_done(
    filesystem: str, kind: str, release: str, given: bool
) -> None:
    found = made(on(filesystem, kind), release)
    values = [each.value for each in found.parameters if each.flag == FLAG]
    assert values == (["prefetch"] if given else [])
    assert bool(said(found)) is (not given and kind != "nvme")


def test_a_host_that_cannot_hold_the_checkpoint_does_not_read_ahead() -> None:
    assert "does not hold the checkpoint" in said(made(on("9p", "host share", memory=16)))


def test_a_download_without_room() -> None:
    small = on("ext4", "nvme", free=100)
    found = find("DeepSeek-V4-Flash", {"HF_HOME": "/nowhere"})
    notes = plan(found, small, serving("0.33.0"), "throughput").notes
    assert any("100 GiB are free in /models: the checkpoint of 149 GiB" in each for each in notes)
    assert not any("are free" in each for each in made(small).notes)
