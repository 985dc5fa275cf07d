"""Real images: the smoke wheel by buildah, on a base by mmdebstrap, and its entry point run."""

from __future__ import annotations

import json
import subprocess
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import ClassVar

import jsonschema
import pytest
from tests.build.conftest import command
from tests.build.image.conftest import Engine, Made
from tests.doctor.images.builders import Image, digest, layer

from dsv4_build.image.making import SCHEMA
from dsv4_doctor.images import labels as label

pytestmark = pytest.mark.real


def test_an_image_is_made_proved_and_made_again_alike(made: Made) -> None:
    assert made.done.status == 0, made.done.stderr
    out = made.done.stdout
    assert out.startswith(f"oci:{made.layout}\n")
    assert "reproduced  a second build has the same digest" in out
    for claim in ("archs sm_90a", "features fa3", "features paged-v2", "version 1.0.0"):
        assert any(claim in line and line.startswith("proved") for line in out.splitlines()), claim
    steps = [line.split()[0] for line in made.done.stderr.splitlines() if line[:1].strip()]
    assert steps == ["wheel", "context", "image", "again", "proof"]


def test_its_labels_and_annotations_name_the_inputs(made: Made) -> None:
    config = made.config["config"]
    assert isinstance(config, dict)
    assert config["Labels"] == made.manifest["annotations"]
    assert config["Labels"][label.ARCHS] == "sm_90 sm_90a"
    assert config["Labels"][label.DISTRIBUTION] == "dsv4-smoke"
    assert len(config["Labels"][label.WHEEL]) == 64
    assert label.LOCK not in config["Labels"]
    assert (config["User"], config["Volumes"]) == ("2000:0", {"/cache": {}})
    assert config["Healthcheck"]["Test"][-1] == "--health"


def test_nothing_of_this_machine_is_in_it(made: Made, engine: Engine) -> None:
    text = json.dumps([made.manifest, made.config])
    assert str(engine.root) not in text
    assert "localhost" not in text
    times = {each.get("created") for each in made.config["history"]}  # type: ignore[attr-defined]
    # The steps of the base say none.
    assert times == {None, made.config["created"], "1980-01-01T00:00:00Z"}


def test_its_bill_of_materials(made: Made) -> None:
    document = json.loads(Path(f"{made.layout}.cdx.json").read_text())
    names = {each["name"]: each for each in document["components"]}
    assert names["dsv4-smoke"]["purl"].startswith("pkg:pypi/dsv4-smoke@1.0.0")
    assert names["python3-venv"]["purl"].startswith("pkg:deb/debian/python3-venv@")
    assert names["rich"]["purl"].startswith("pkg:pypi/rich@")


def test_inspect_says_the_same(made: Made) -> None:
    done = command("inspect", str(made.layout), "--require", "fa3", "--format", "json")
    assert done.status == 0, done.stderr
    document = json.loads(done.stdout)
    assert {each["status"] for each in document["image"]["claims"]} == {"true"}
    assert len(document["objects"]) == 2


def _another_wheel(made: Made, folder: Path) -> Path:
    """Return the same wheel with one more line in it."""
    path = folder / made.wheel.name
    with zipfile.ZipFile(made.wheel) as old, zipfile.ZipFile(path, "w") as new:
        for info in old.infolist():
            data = old.read(info)
            if info.filename.endswith("__init__.py"):
                data += b"# changed\n"
            if not info.filename.endswith("RECORD"):
                new.writestr(info, data)
        names = [info.filename for info in old.infolist()]
        record = next(name for name in names if name.endswith("RECORD"))
        new.writestr(record, "".join(f"{name},,\n" for name in names))
    return path


def test_another_wheel_changes_its_own_layer_alone(made: Made, base: Path, tmp_path: Path) -> None:
    done = command(
        *("image", str(_another_wheel(made, tmp_path)), "--output", f"oci:{tmp_path / 'other'}"),
        *("--base", f"oci:{base}", "--jit", "none", "--engine", "buildah", "--format", "json"),
    )
    assert done.status == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["schema"] == SCHEMA
    schema = json.loads(files("dsv4_doctor").joinpath("schemas/image-1.json").read_text())
    jsonschema.validate(document, schema)
    before = [each["digest"] for each in made.manifest["layers"]]  # type: ignore[attr-defined]
    after = [each["digest"] for each in document["image"]["layers"]]
    assert before[:-1] == after[:-1]
    assert before[-1] != after[-1]


# The entry point of the image's own root file system.


@pytest.fixture(scope="module")
def container(made: Made, engine: Engine) -> Iterator[str]:
    done = engine.run("from", f"oci:{made.layout}")
    assert done.returncode == 0, done.stderr
    name = done.stdout.strip().splitlines()[-1]
    yield name
    engine.run("rm", name)


def _started(
    engine: Engine, made: Made, container: str, stub: Path, **env: str
) -> subprocess.CompletedProcess[str]:
    entrypoint = made.config["config"]["Entrypoint"]  # type: ignore[index]
    variables = [part for name, value in env.items() for part in ("--env", f"{name}={value}")]
    mounts = ["--volume", f"{stub}:/opt/venv/bin/vllm:ro"]
    return engine.run("run", *variables, *mounts, container, "--", *entrypoint, "MODEL")


@pytest.fixture
def stub(tmp_path: Path) -> Path:
    path = tmp_path / "vllm"
    path.write_text('#!/bin/sh\necho "stub: $* as $(id -u):$(id -g)"\nexit "${STUB:-0}"\n')
    path.chmod(0o755)
    return path


def test_an_enforced_preflight_fails_without_a_gpu(
    engine: Engine, made: Made, container: str, stub: Path
) -> None:
    done = _started(engine, made, container, stub, DSV4_PREFLIGHT="enforce")
    assert done.returncode == 1, done.stderr
    assert "stub:" not in done.stdout
    for finding in ("driver.nvidia.present", "gpu.device.present"):
        assert finding in done.stderr
    assert "not serving" in done.stderr


def test_without_it_the_server_runs_as_nobody_in_particular(
    engine: Engine, made: Made, container: str, stub: Path
) -> None:
    done = _started(engine, made, container, stub, DSV4_PREFLIGHT="off")
    assert (done.returncode, done.stdout) == (0, "stub: serve MODEL as 2000:0\n"), done.stderr
    failed = _started(engine, made, container, stub, DSV4_PREFLIGHT="off", STUB="5")
    assert "the server ended with status 5" in failed.stderr


# What goes wrong.


def _refused(made: Made, base: Path, tmp_path: Path, *more: str) -> str:
    output = tmp_path / "refused"
    done = command(
        *("image", str(made.wheel), "--output", f"oci:{output}", "--base", f"oci:{base}"),
        *("--jit", "none", "--engine", "buildah", *more),
    )
    assert done.status == 1, done.stderr
    assert list(output.parent.glob("*refused*")) == []
    assert list(output.parent.glob(".dsv4*")) == []
    return done.stderr


def test_a_base_with_an_older_glibc(made: Made, base: Path, tmp_path: Path) -> None:
    head = made.wheel.name.rpartition("-")[0]
    named = tmp_path / f"{head}-manylinux_2_99_x86_64.whl"
    named.write_bytes(made.wheel.read_bytes())
    message = _refused(Made(made.done, made.layout, named), base, tmp_path)
    assert "error: the base has glibc 2.36, the wheel needs 2.99 or newer" in message
    assert "choose a newer --base" in message


def test_a_base_without_python(made: Made, base: Path, tmp_path: Path) -> None:
    message = _refused(made, _on(base, tmp_path, "usr/bin/.wh.python3"), tmp_path)
    assert "error: the base lacks python3 python3-venv, and has no apt-get" in message


def test_a_base_with_a_libcuda_of_its_own(made: Made, base: Path, tmp_path: Path) -> None:
    message = _refused(made, _on(base, tmp_path, "usr/local/cuda/compat/libcuda.so.1"), tmp_path)
    assert "the base has /usr/local/cuda/compat/libcuda.so.1, which would shadow" in message


def test_a_base_without_the_toolkit(made: Made, base: Path, tmp_path: Path) -> None:
    files = ("usr/bin/c++", "usr/bin/cc", "sbin/x")
    lower = _on(base, tmp_path, *files)
    message = _refused(made, lower, tmp_path, "--jit", "base")
    assert "the base lacks" in message
    assert "python3-dev" in message


def _on(base: Path, tmp_path: Path, *names: str) -> Path:
    """Return the base with one more layer on it."""
    index = json.loads((base / "index.json").read_text())
    blobs = base / "blobs"
    manifest = json.loads((blobs / index["manifests"][0]["digest"].replace(":", "/")).read_text())
    old = blobs / manifest["layers"][0]["digest"].replace(":", "/")
    extra = layer(dict.fromkeys(names, b"#!/bin/sh\n"))
    made = Image([extra], compression="none").write(tmp_path / "base")
    config = json.loads((blobs / manifest["config"]["digest"].replace(":", "/")).read_text())
    config["rootfs"]["diff_ids"].append(digest(extra))
    config["history"] = [{"created_by": "mmdebstrap"}, {"created_by": "a site's own"}]
    data = json.dumps(config).encode()
    entry = {**manifest["layers"][0], "digest": digest(extra), "size": len(extra)}
    manifest["layers"].append(entry)
    manifest["config"] = {**manifest["config"], "digest": digest(data), "size": len(data)}
    text = json.dumps(manifest).encode()
    for blob in (data, text):
        (made / "blobs" / digest(blob).replace(":", "/")).write_bytes(blob)
    (made / "blobs/sha256" / old.name).hardlink_to(old)
    index["manifests"][0] |= {"digest": digest(text), "size": len(text)}
    (made / "index.json").write_text(json.dumps(index))
    return made


def test_a_full_disk(made: Made, base: Path, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(small)], check=True)
    try:
        message = _refused(made, base, small)
        assert "no space left" in message.lower() or "full" in message
        assert list(small.iterdir()) == []
    finally:
        subprocess.run(["umount", str(small)], check=True)


class Registry(BaseHTTPRequestHandler):
    """As much of a registry as a push needs; refuses when it is told to."""

    protocol_version = "HTTP/1.1"
    refuses: ClassVar[bool] = False
    blobs: ClassVar[set[str]] = set()
    manifests: ClassVar[dict[str, bytes]] = {}

    def _answer(self, status: int, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": "0", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline().strip() or b"0", 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def do_GET(self) -> None:
        self._answer(200 if self.path == "/v2/" else 404)

    def do_HEAD(self) -> None:
        self._answer(200 if self.path.rpartition("/")[2] in self.blobs else 404)

    def do_POST(self) -> None:
        self._body()
        self._answer(403 if self.refuses else 202, Location="/v2/upload/1")

    def do_PATCH(self) -> None:
        self._body()
        self._answer(202, Location="/v2/upload/1")

    def do_PUT(self) -> None:
        body = self._body()
        if "/manifests/" in self.path:
            self.manifests[self.path] = body
            self._answer(201, Docker_Content_Digest=digest(body))
            return
        self.blobs.add(self.path.partition("digest=")[2].replace("%3A", ":"))
        self._answer(201, Location="/v2/blob")

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def registry(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(Registry, "blobs", set())
    monkeypatch.setattr(Registry, "manifests", {})
    with ThreadingHTTPServer(("127.0.0.1", 0), Registry) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        place = f"127.0.0.1:{server.server_port}"
        config = engine.root / "registries.conf"
        config.write_text(f'[[registry]]\nlocation = "{place}"\ninsecure = true\n')
        monkeypatch.setenv("CONTAINERS_REGISTRIES_CONF", str(config))
        yield place
        server.shutdown()


@pytest.mark.parametrize("refuses", [False, True], ids=["accepts", "refuses"])
def test_a_registry(
    made: Made, base: Path, registry: str, monkeypatch: pytest.MonkeyPatch, refuses: bool
) -> None:
    monkeypatch.setattr(Registry, "refuses", refuses)
    name = f"{registry}/site/smoke:1"
    done = command(
        *("image", str(made.wheel), "--output", name, "--push", "--base", f"oci:{base}"),
        *("--jit", "none", "--engine", "buildah", "--format", "json"),
    )
    if refuses:
        assert done.status == 1
        assert "the registry refused" in done.stderr
        assert "buildah login" in done.stderr
        assert Registry.manifests == {}
        return
    assert done.status == 0, done.stderr
    document = json.loads(done.stdout)
    (pushed,) = Registry.manifests.values()
    assert document["pushed"] == digest(pushed) == document["image"]["digest"]


def test_a_name_is_given_and_nothing_is_pushed(
    made: Made, base: Path, engine: Engine, registry: str
) -> None:
    name = f"{registry}/site/smoke:2"
    done = command(
        *("image", str(made.wheel), "--output", name, "--base", f"oci:{base}"),
        *("--jit", "none", "--engine", "buildah"),
    )
    assert done.status == 0, done.stderr
    assert engine.run("inspect", "--type", "image", name).returncode == 0
    assert Registry.manifests == {}
