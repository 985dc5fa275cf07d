"""The seam to the engines, with programs that only pretend: what they are told, and say."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.build.conftest import command
from tests.build.image.test_requests import HEX, wheel
from tests.doctor.images.builders import Image, layer

from dsv4_build.image import engines
from dsv4_build.image.buildx import Buildx
from dsv4_build.image.containers import Containers
from dsv4_build.image.engines import Task
from dsv4_build.image.request import Base
from dsv4_doctor.errors import BuildError, UsageError
from dsv4_doctor.images.image import read_image


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of programs, the only one that is searched."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "cp", "cat", "mkdir"):
        (folder / name).symlink_to(f"/bin/{name}")
    monkeypatch.setenv("PATH", str(folder))
    return folder


def program(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def test_without_an_engine_every_one_that_would_do_is_named(programs: Path, tmp_path: Path) -> None:
    done = command("image", str(wheel(tmp_path)), "--output", "oci:x", "--jit", "none")
    assert done.status == 1
    assert "error: no container engine can be used here" in done.stderr
    for line in (
        "docker: docker is not installed",
        "podman: podman is not installed",
        "buildah: buildah is not installed",
        "apt-get install buildah",
        "apt-get install podman",
        "https://docs.docker.com/engine/install/",
    ):
        assert line in done.stderr


def test_the_first_that_can_be_used_is_taken(programs: Path) -> None:
    program(programs, "buildah", "echo buildah version 1")
    assert engines.find(None) == "buildah"
    program(programs, "podman", "echo podman version 1")
    assert engines.find(None) == "podman"
    # A client without its daemon builds nothing.
    program(programs, "docker", '[ "$1" = buildx ] || { echo "Cannot connect" >&2; exit 1; }')
    assert engines.find(None) == "podman"
    program(programs, "docker", "echo 28")
    assert engines.find(None) == "docker"
    assert engines.find("buildah") == "buildah"


def test_one_that_was_wished_for_and_cannot_be_used(programs: Path) -> None:
    program(programs, "docker", 'echo "Cannot connect to the Docker daemon" >&2; exit 1')
    with pytest.raises(BuildError, match="Cannot connect to the Docker daemon") as caught:
        engines.find("docker")
    assert "docs.docker.com" in caught.value.hint
    with pytest.raises(UsageError, match="known: docker, podman, buildah"):
        engines.find("kaniko")


def task(tmp_path: Path, base: Base, *, cached: bool = True) -> Task:
    return Task(
        context=tmp_path / "context",
        base=base,
        args={"JIT": "none"},
        labels={"a": "b c"},
        annotations={"a": "b c"},
        epoch=315532800,
        cached=cached,
        log=tmp_path / "log",
    )


REMOTE = Base("registry.example/site/base:1", f"sha256:{HEX}")


def said(tmp_path: Path) -> list[list[str]]:
    return [json.loads(line) for line in (tmp_path / "said").read_text().splitlines()]


RECORD = """
{ printf '['; sep=
for each; do printf '%s"%s"' "$sep" "$each"; sep=,; done; echo ']'; } >>"$SAID"
"""


@pytest.fixture
def recorded(programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SAID", str(tmp_path / "said"))
    monkeypatch.setenv("SAMPLE", str(Image([layer({"a": b"b"})]).write(tmp_path / "sample")))
    take = """
for each; do case $each in
  --iidfile=*) echo sha256:0 >"${each#--iidfile=}" ;;
  --digestfile=*) echo sha256:1 >"${each#--digestfile=}" ;;
  --metadata-file=*) echo '{"containerimage.digest":"sha256:2"}' >"${each#--metadata-file=}" ;;
  oci:dsv4*) echo "a warning"; echo identity ;;
  oci:*) cp -r "$SAMPLE" "${each#oci:}" ;;
  --output=type=oci,*) to=${each#*dest=}; cp -r "$SAMPLE" "${to%%,*}" ;;
esac; done
"""
    for name in ("docker", "podman", "buildah"):
        program(programs, name, RECORD + take)
    return tmp_path


@pytest.mark.parametrize("name", ["buildah", "podman"])
def test_what_buildah_and_podman_are_told(recorded: Path, name: str) -> None:
    engine = Containers(name)
    layout = recorded / "layout"
    engine.build(task(recorded, REMOTE), layout)
    build, push = said(recorded)
    assert build[0] == "build"
    assert {"--layers", "--timestamp=315532800", "--identity-label=false"} <= set(build)
    assert f"BASE=registry.example/site/base@sha256:{HEX}" in build
    assert "--no-cache" not in build
    assert push == ["push", "--quiet", "sha256:0", f"oci:{layout}"]
    assert not any("docker://" in part for argv in (build, push) for part in argv)
    with read_image(layout) as contents:
        assert contents.summary.labels == {"a": "b c"}
        assert contents.config["config"]["Healthcheck"]["Test"][0] == "CMD"
        assert contents.config["created"] == "1980-01-01T00:00:00Z"


def test_a_local_base_is_put_into_the_storage_by_a_name_that_it_takes(recorded: Path) -> None:
    local = Base(str(recorded / "With Capitals"), f"sha256:{HEX}", local=True)
    Containers("podman").build(task(recorded, local, cached=False), recorded / "layout")
    pull, build, _ = said(recorded)
    assert pull == ["pull", "--quiet", "oci:dsv4-doctor-layout"]
    assert "BASE=identity" in build
    assert "--no-cache" in build


def test_a_push_by_podman(recorded: Path) -> None:
    digest = Containers("podman").push(task(recorded, REMOTE), recorded, "registry.example/x:1")
    assert digest == "sha256:1"
    assert said(recorded)[-1][-2:] == ["identity", "docker://registry.example/x:1"]


def test_what_buildx_is_told(recorded: Path) -> None:
    Buildx().build(task(recorded, REMOTE, cached=False), recorded / "layout")
    (argv,) = said(recorded)
    assert argv[:2] == ["buildx", "build"]
    assert {"--provenance=false", "--sbom=false", "--no-cache", "--target=runtime"} <= set(argv)
    assert f"--output=type=oci,tar=false,dest={recorded / 'layout'},rewrite-timestamp=true" in argv
    assert argv[argv.index("--label") + 1] == argv[argv.index("--annotation") + 1] == "a=b c"
    assert "SOURCE_DATE_EPOCH=315532800" in argv
    assert not any("push" in part for part in argv)


def test_a_local_base_for_buildx(recorded: Path) -> None:
    local = Base("/some/layout", f"sha256:{HEX}", local=True)
    Buildx().build(task(recorded, local), recorded / "layout")
    (argv,) = said(recorded)
    given = argv[argv.index("--build-context") + 1]
    assert given == f"dsv4-base=oci-layout:///some/layout@sha256:{HEX}"
    assert "BASE=dsv4-base" in argv


def test_a_push_and_a_load_by_docker(recorded: Path) -> None:
    digest = Buildx().push(task(recorded, REMOTE), recorded / "none", "registry.example/x:1")
    assert digest == "sha256:2"
    assert any("name=registry.example/x:1,push=true" in part for part in said(recorded)[-1])
    Buildx().load(recorded / "sample", "registry.example/x:1", recorded / "log")
    assert said(recorded)[-1][:2] == ["load", "--input"]


@pytest.mark.parametrize(
    ("line", "what", "way"),
    [
        (
            "#9 1.2 dsv4-image: the base has glibc 2.17; choose a newer",
            "the base has glibc",
            "choose",
        ),
        ("write /x: no space left on device", "disk of the engine's storage is full", "free"),
        ("requested access to the resource is denied", "the registry refused", "login"),
        ("error: OCI exporter is not supported for the docker driver", "", "buildx create --use"),
        ("crun: cannot set up cgroup", "", "BUILDAH_ISOLATION=chroot"),
        ("something else", "", ""),
    ],
)
def test_what_an_engine_says_in_other_words(line: str, what: str, way: str) -> None:
    found = engines.way_out(["before", line])
    assert what in found[0]
    assert way in found[1]


def test_an_engine_that_fails_leaves_nothing(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    broken = '[ "$1" != build ] || { echo "no space left on device"; exit 125; }'
    program(programs, "buildah", broken)
    out = tmp_path / "out"
    out.mkdir()
    path = wheel(tmp_path)
    before = sorted(os.listdir(tmp_path))  # noqa: PTH208
    base = f"registry.example/base@sha256:{HEX}"
    argv = ("image", str(path), "--output", f"oci:{out / 'image'}", "--base", base)
    done = command(*argv, "--jit", "none", "--engine", "buildah")
    assert done.status == 1
    assert "error: the disk of the engine's storage is full" in done.stderr
    assert list(out.iterdir()) == []
    assert sorted({*os.listdir(tmp_path)} - {"cache"}) == sorted({*before} - {"cache"})  # noqa: PTH208
