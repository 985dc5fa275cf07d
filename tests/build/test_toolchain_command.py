from __future__ import annotations

from pathlib import Path

import pytest

from dsv4_build.toolchain import pypi
from dsv4_build.toolchain.pins import Selection
from dsv4_doctor.cli.toolchain import Group, toolchain


def test_the_pins_are_printed_for_a_machine_without_a_network(
    capsys: pytest.CaptureFixture[str],
) -> None:
    toolchain(group=Group.COMPILE, requirements=True)
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("nvidia-cuda-nvcc==13.0.88 --hash=sha256:") for line in lines)


def test_the_place_is_the_result(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Selection] = []

    def assemble(selection: Selection, *_: object, **__: object) -> Path:
        asked.append(selection)
        return Path("/cache/toolchains/cuda")

    monkeypatch.setattr(pypi, "assemble", assemble)
    toolchain(group=Group.FULL, requirements=False)
    assert capsys.readouterr().out == "/cache/toolchains/cuda\n"
    assert asked[0].group == "full"
