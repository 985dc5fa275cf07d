"""Limits of a machine and errors of CUDA: readable, each with its place, used by their checks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dsv4_doctor.checks
from dsv4_doctor.knowledge import machine
from dsv4_doctor.knowledge.cuda_errors import cuda_errors

CHECKS = Path(dsv4_doctor.checks.__file__).parent
USED = re.compile(r'machine\.(?:values\(\)\["|number\(")(\w+)"')


def test_every_value_is_used_and_every_used_one_is_there() -> None:
    texts = [each.read_text(encoding="utf-8") for each in CHECKS.glob("*.py")]
    used = {name for text in texts for name in USED.findall(text)}
    assert used == set(machine.values())


@pytest.mark.parametrize(
    "name", [name for name in machine.values() if name.endswith(("_gb", "_gib"))]
)
def test_numbers_are_numbers(name: str) -> None:
    assert machine.number(name) > 0


@pytest.mark.parametrize("code", [100, 802, 803, 804, 999])
def test_the_errors_that_people_meet_are_explained(code: int) -> None:
    error = cuda_errors()[code]
    assert error.code == code
    assert error.name.startswith("CUDA_ERROR_")
    assert error.title
    assert error.causes
    assert error.remedy
    assert error.place.line


def test_three_faults_are_told_apart() -> None:
    remedies = {cuda_errors()[code].remedy for code in (802, 803, 804)}
    assert len(remedies) == 3
