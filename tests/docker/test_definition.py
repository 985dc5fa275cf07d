"""The Dockerfile as BuildKit's own parser reads it, and the scripts that it calls."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import dockerfile
import pytest

from dsv4_build.image import sealing
from dsv4_build.image.described import arguments
from dsv4_build.image.engines import TARGET

DOCKER = Path(__file__).parents[2] / "docker"
COMMANDS = dockerfile.parse_file(str(DOCKER / "Dockerfile"))


def stage(name: str) -> list[dockerfile.Command]:
    """Return the commands of a stage, and of those that it lies on."""
    found: dict[str, tuple[str, list[dockerfile.Command]]] = {}
    current = ""
    for each in COMMANDS:
        if each.cmd == "FROM":
            current = each.value[2] if len(each.value) > 2 else each.value[0]
            found[current] = (each.value[0], [])
        elif current:
            found[current][1].append(each)
    below, commands = found[name]
    return [*(stage(below) if below in found else []), *commands]


def test_every_stage_lies_on_the_one_base_that_is_given_by_digest() -> None:
    names = {each.value[2] for each in COMMANDS if each.cmd == "FROM" and len(each.value) > 2}
    below = [each.value[0] for each in COMMANDS if each.cmd == "FROM"]
    assert set(below) - names == {"${BASE}", "scratch"}
    base = next(each for each in COMMANDS if each.cmd == "ARG")
    assert base.value == ("BASE",)  # Without a default, which would be a tag.


def test_layers_go_from_what_changes_seldom_to_the_wheel() -> None:
    marks = ("system.sh", "toolkit/", "packages.sh", "doctor.sh", "wheel.sh")
    layers = [each.original for each in stage(TARGET) if each.cmd in {"RUN", "COPY"}]
    assert len(layers) == len(marks)
    for mark, text in zip(marks, layers, strict=True):
        assert mark in text


def test_nothing_that_only_building_needs_is_in_the_image() -> None:
    for each in stage(TARGET):
        assert "source/" not in each.original
        if each.cmd == "COPY":
            assert not any("wheel" in value or "packages" in value for value in each.value)


def test_it_runs_as_nobody_in_particular_and_is_asked_for_its_health() -> None:
    last = {each.cmd: each for each in stage(TARGET)}
    assert last["USER"].value == ("2000:0",)
    assert last["VOLUME"].value == ("/cache",)
    assert last["ENTRYPOINT"].json
    health = last["HEALTHCHECK"]
    assert list(health.value[1:]) == sealing.HEALTHCHECK["Test"][1:]  # type: ignore[index]
    flags = dict(flag[2:].split("=") for flag in health.flags)
    seconds = {"s": 1, "m": 60}
    for flag, key in (
        ("interval", "Interval"),
        ("timeout", "Timeout"),
        ("start-period", "StartPeriod"),
    ):
        text = flags[flag]
        assert int(text[:-1]) * seconds[text[-1]] * 10**9 == sealing.HEALTHCHECK[key]
    assert int(flags["retries"]) == sealing.HEALTHCHECK["Retries"]


def test_caches_of_run_time_compilers_are_on_the_volume() -> None:
    env = next(e for e in reversed(stage(TARGET)) if e.cmd == "ENV")
    values = dict(zip(env.value[::2], env.value[1::2], strict=True))
    for name in (
        "DG_JIT_CACHE_DIR",
        "TRITON_CACHE_DIR",
        "VLLM_CACHE_ROOT",
        "FLASHINFER_WORKSPACE_BASE",
    ):
        assert values[name].startswith("/cache")
    assert values["CUDA_HOME"] == "/usr/local/cuda"


def test_every_argument_is_given_and_every_one_given_is_declared(tmp_path: Path) -> None:
    from tests.build.image.test_requests import asked, wheel  # noqa: PLC0415 - for this alone

    from dsv4_build.image import facts  # noqa: PLC0415

    for name in ("docker", "doctor", "packages"):
        (tmp_path / name).mkdir()
    given = arguments(asked(tmp_path), facts.read(wheel(tmp_path)), tmp_path)
    declared = {each.value[0].partition("=")[0] for each in COMMANDS if each.cmd == "ARG"}
    assert declared == {*given, "BASE", "SOURCE_DATE_EPOCH"}


def test_scripts_are_shell_and_can_be_executed() -> None:
    for path in DOCKER.glob("*.sh"):
        assert subprocess.run(["sh", "-n", str(path)], check=False).returncode == 0
        first = path.read_text().splitlines()[0]
        assert bool(path.stat().st_mode & 0o100) == first.startswith("#!")


@pytest.mark.parametrize(
    ("one", "other", "older"),
    [
        ("2.17", "2.28", True),
        ("2.28", "2.28", False),
        ("2.36", "2.4", False),
        ("3.9", "3.10", True),
    ],
)
def test_versions_are_compared_as_numbers(one: str, other: str, older: bool) -> None:
    script = f". {DOCKER}/messages.sh; older {one} {other}"
    assert (subprocess.run(["sh", "-c", script], check=False).returncode == 0) is older


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("ID=debian\nVERSION_CODENAME=trixie", "archive/debian-security/T trixie-security main"),
        ("ID=ubuntu\nVERSION_CODENAME=noble", "snapshot.ubuntu.com/ubuntu/T noble-security main"),
    ],
)
def test_snapshots_of_the_archive(tmp_path: Path, release: str, expected: str) -> None:
    (tmp_path / "os-release").write_text(release)
    text = (DOCKER / "messages.sh").read_text().replace("/etc/os-release", f"{tmp_path}/os-release")
    (tmp_path / "messages.sh").write_text(text)
    script = f"APT_SNAPSHOT=T; . {tmp_path}/messages.sh; snapshot_sources"
    done = subprocess.run(["sh", "-c", script], check=True, capture_output=True, text=True)
    assert expected in done.stdout


def test_bake_gives_the_known_base() -> None:
    from dsv4_build.image.request import parse_base  # noqa: PLC0415

    text = (DOCKER / "docker-bake.hcl").read_text()
    assert re.findall(r'"13\.0" = "(.*)"', text) == [parse_base(None).reference]
    declared = {each.value[0].partition("=")[0] for each in COMMANDS if each.cmd == "ARG"}
    assert set(re.findall(r"^    ([A-Z0-9_]+) +=", text, re.MULTILINE)) <= declared


def test_the_definition_is_installed_with_the_wheel() -> None:
    text = (DOCKER.parent / "pyproject.toml").read_text()
    assert '"docker" = "dsv4_build/image/docker"' in text


@pytest.mark.skipif(shutil.which("hadolint") is None, reason="hadolint is for development only")
def test_hadolint_finds_nothing() -> None:
    done = subprocess.run(
        ["hadolint", str(DOCKER / "Dockerfile")], check=False, capture_output=True, text=True
    )
    assert done.stdout == ""
