"""Container engines and how they hand GPUs on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.probes.fakes import program

from dsv4_doctor.facts.containers import Containers
from dsv4_doctor.probes import containers

if TYPE_CHECKING:
    from pathlib import Path


def nowhere(_name: str) -> None:
    return None


def write(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_machine_without_engines(tmp_path: Path) -> None:
    assert containers.survey(tmp_path, nowhere) == Containers()


def test_programs_and_the_daemons_configuration(tmp_path: Path) -> None:
    known = {"docker": "/usr/bin/docker", "nvidia-ctk": "/usr/bin/nvidia-ctk"}
    write(
        tmp_path,
        "etc/docker/daemon.json",
        json.dumps(
            {
                "runtimes": {"nvidia": {"path": "nvidia-container-runtime"}},
                "default-runtime": "nvidia",
                "features": {"cdi": True},
            }
        ),
    )
    spec = write(tmp_path, "etc/cdi/nvidia.yaml", "")
    write(tmp_path, "etc/cdi/README", "")
    found = containers.survey(tmp_path, known.get)
    assert found == Containers(
        known, False, None, ("nvidia",), "nvidia", True, None, (str(spec.resolve()),)
    )


def test_the_version_is_asked_where_it_decides(tmp_path: Path) -> None:
    docker = program(tmp_path / "docker", "echo 'Docker version 28.0.0, build f9ced58'")
    known = {"docker": str(docker)}
    assert containers.survey(tmp_path, known.get).docker_version is None
    write(tmp_path, "run/cdi/nvidia.json", "{}")
    assert containers.survey(tmp_path, known.get).docker_version == "28.0.0"


def test_docker_of_the_snap_store(tmp_path: Path) -> None:
    assert containers.survey(tmp_path, {"docker": "/snap/bin/docker"}.get).docker_snap


@pytest.mark.parametrize("text", ["", "{", "[]", '"x"', "[" * 100_000])
def test_a_configuration_that_cannot_be_read(text: str) -> None:
    error = containers.parse_daemon(text, "daemon.json")[3]
    assert error is not None
    assert error.startswith("daemon.json: ")


@given(
    st.dictionaries(
        st.sampled_from(["runtimes", "features", "default-runtime"]),
        st.one_of(st.none(), st.text(), st.integers(), st.dictionaries(st.text(), st.integers())),
    )
)
def test_any_values(data: dict[str, object]) -> None:
    assert containers.parse_daemon(json.dumps(data), "daemon.json")[3] is None
