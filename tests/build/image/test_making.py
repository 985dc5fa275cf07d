"""The whole way with an engine that only pretends: what is proved, and what is left if not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Protocol

import jsonschema
import pytest
from tests.build.conftest import command
from tests.build.image.test_requests import HEX, wheel
from tests.doctor.binary.builders import kernels, library
from tests.doctor.images.builders import Image, layer

from dsv4_build.image import engines, making
from dsv4_build.image.engines import Task
from dsv4_build.image.image_text import render
from dsv4_build.image.request import Base, ImageRequest, parse_output
from dsv4_build.process import ChildFailedError
from dsv4_build.progress import Progress
from dsv4_build.publish import Artifact
from dsv4_build.request import BuildRequest, Surroundings
from dsv4_doctor.cli.image import Jit, from_build
from dsv4_doctor.errors import BuildError
from dsv4_doctor.images import labels as label
from dsv4_doctor.images.image import read_image

SITE = "opt/venv/lib/python3.12/site-packages"


def installed(code: bytes) -> bytes:
    return layer(
        {
            f"{SITE}/vllm/_C.abi3.so": code,
            f"{SITE}/vllm-0.24.0.dist-info/METADATA": b"Name: vllm\nVersion: 0.24.0+g1a2b3c4d5\n",
            f"{SITE}/vllm-0.24.0.dist-info/RECORD": b"vllm/_C.abi3.so,,\n",
        }
    )


RIGHT = installed(library(kernels("sm_90a", "f")))
WRONG = installed(library(kernels("sm_80", "f")))


class Pretended:
    """Gives one image after the other, with the labels that it is told."""

    name = "pretended"

    def __init__(self, *layers: bytes, refusal: str = "") -> None:
        self._layers: Iterator[bytes] = iter(layers)
        self._refusal = refusal
        self.loaded: list[str] = []
        self.pushed: list[str] = []

    def build(self, task: Task, layout: Path) -> None:
        assert (task.context / "docker/Dockerfile").is_file()
        Image([next(self._layers)], dict(task.labels)).write(layout)

    def load(self, layout: Path, reference: str, log: Path) -> None:
        self.loaded.append(reference)

    def push(self, task: Task, layout: Path, reference: str) -> str:
        if self._refusal:
            raise ChildFailedError(self._refusal, lines=[self._refusal])
        self.pushed.append(reference)
        with read_image(layout) as contents:
            return contents.summary.digest


class Make(Protocol):
    """What makes an image with an engine."""

    def __call__(
        self, engine: Pretended, output: str, *, verify: bool = False, push: bool = False
    ) -> making.Made: ...


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    monkeypatch.setattr(engines, "find", lambda wish: "pretended")
    around = Surroundings({}, tmp_path, "x86_64", tmp_path / "cache")

    def run(
        engine: Pretended, output: str, *, verify: bool = False, push: bool = False
    ) -> making.Made:
        monkeypatch.setattr(engines, "make", lambda name: engine)
        base = Base("debian", f"sha256:{HEX}")
        place = parse_output(output)
        request = ImageRequest(wheel(tmp_path), place, base, "none", push=push, verify=verify)
        return making.make(request, around, Progress(StringIO()))

    return run


def test_a_true_image_gets_its_place_and_its_text(make: Make, tmp_path: Path) -> None:
    place = tmp_path / "image"
    made = make(Pretended(RIGHT, RIGHT), f"oci:{place}", verify=True)
    assert made.reproduced
    assert Path(made.sbom) == tmp_path / "image.cdx.json"
    text = render(made)
    assert text.startswith(f"oci:{place}\n  {made.summary.digest}  linux/amd64, by pretended\n")
    assert "proved  io.dsv4-doctor.archs sm_90a: in vllm" in text
    assert made.to_json()["image"]["labels"][label.REVISION] == "1a2b3c4d5"


@pytest.mark.parametrize("output", ["oci:{}/image", "site/vllm:1"])
@pytest.mark.parametrize("verify", [False, True])
def test_the_json_is_of_its_schema(make: Make, tmp_path: Path, output: str, verify: bool) -> None:
    place = output.format(tmp_path)
    made = make(Pretended(RIGHT, RIGHT), place, verify=verify, push=output.startswith("site"))
    document = json.loads(json.dumps(made.to_json()))
    schema = json.loads(files("dsv4_doctor").joinpath("schemas/image-1.json").read_text())
    jsonschema.validate(document, schema)
    assert document.keys() == schema["properties"].keys()
    assert document["reproduced"] is (True if verify else None)
    for name in document:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({k: v for k, v in document.items() if k != name}, schema)
    lie = {"label": "x", "value": "y", "status": "perhaps", "reason": ""}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**document, "image": {**document["image"], "claims": [lie]}}, schema)


def test_two_builds_that_differ_leave_nothing(make: Make, tmp_path: Path) -> None:
    place = tmp_path / "image"
    with pytest.raises(BuildError, match="gave two images") as caught:
        make(Pretended(RIGHT, WRONG), f"oci:{place}", verify=True)
    assert "vllm/_C.abi3.so: its content" in str(caught.value)
    assert not place.exists()
    assert not list(tmp_path.glob(".dsv4*"))


@pytest.mark.parametrize("output", ["oci:{}/image", "docker-archive:{}/image.tar", "site/vllm:1"])
def test_an_image_that_is_not_what_its_labels_say_goes_nowhere(
    make: Make, tmp_path: Path, output: str
) -> None:
    engine = Pretended(WRONG)
    with pytest.raises(BuildError, match=r"sm_90a: not in vllm .*, which has sm_80"):
        make(engine, output.format(tmp_path))
    assert not list(tmp_path.glob("image*"))
    assert engine.loaded == engine.pushed == []


def test_a_name_is_not_pushed_by_itself(make: Make) -> None:
    engine = Pretended(RIGHT, RIGHT)
    assert make(engine, "site/vllm:1").pushed == ""
    assert (engine.loaded, engine.pushed) == (["site/vllm:1"], [])
    made = make(engine, "site/vllm:2", push=True)
    assert engine.pushed == ["site/vllm:2"]
    assert made.pushed == made.summary.digest


def test_a_registry_that_refuses(make: Make) -> None:
    engine = Pretended(RIGHT, refusal="requested access to the resource is denied")
    with pytest.raises(BuildError, match="the registry refused") as caught:
        make(engine, "site/vllm:1", push=True)
    assert "login" in caught.value.hint
    assert engine.loaded == []


def test_the_image_of_a_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = Pretended(RIGHT)
    monkeypatch.setattr(engines, "find", lambda wish: "pretended")
    monkeypatch.setattr(engines, "make", lambda name: engine)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = wheel(tmp_path)
    base = Image([layer({"a": b"b"})]).write(tmp_path / "base")
    request = BuildRequest(("sm_90",), tmp_path, recipe="smoke")
    made = from_build(f"oci:{tmp_path / 'image'}", f"oci:{base}", Jit.NONE, request)
    report = Artifact(str(tmp_path / "build-report.json"), "build-report.json", 1, "")
    built = SimpleNamespace(artifacts=(report, Artifact(str(path), path.name, 1, "")))
    assert made(built).output == f"oci:{tmp_path / 'image'}"  # type: ignore[arg-type]
    assert (tmp_path / "image/index.json").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--only", "fa3", "--image", "oci:x"), "--only gives objects"),
        (("--image", "oci:"), "--output oci:"),
        (("--image", "oci:x", "--image-base", "debian:trixie"), "another image tomorrow"),
        (("--image", "oci:/absent/x"), "/absent is not there"),
    ],
)
def test_an_image_that_cannot_be_is_refused_before_anything_is_built(
    arguments: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "find", lambda wish: "pretended")
    done = command("build", "--recipe", "smoke", "--arch", "sm_90", *arguments)
    assert done.status == 2
    assert message in done.stderr
    assert "compile" not in done.stderr
