"""What happens to a finished layout: compared, archived, sealed, delivered, described."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from tests.build.image.test_engines import REMOTE, task
from tests.build.image.test_requests import wheel
from tests.doctor.images.builders import Image, Link, layer
from tests.doctor.images.test_inspection import TRUE, image

from dsv4_build.image import archive, compare, delivery, facts, sbom, sealing, steps
from dsv4_build.image.request import Output
from dsv4_build.toolchain.pins import Selection, cuda_13_0
from dsv4_doctor.errors import UsageError
from dsv4_doctor.images.image import read_image
from dsv4_doctor.images.inspection import inspect_image
from dsv4_doctor.process import run


def test_layouts_of_one_digest_do_not_differ(tmp_path: Path) -> None:
    assert compare.differences(image().write(tmp_path / "a"), image().write(tmp_path / "b")) == []


def test_what_differs_is_named_by_layer_and_path(tmp_path: Path) -> None:
    same = layer({"same": b"1"})
    one = layer({"a": b"1", "b": b"1", "d": None, "only": b"", "l": Link("a")})
    other = layer({"a": b"2", "b": b"1", "d": None, "l": Link("b")})
    first = Image([same, one]).write(tmp_path / "a")
    second = Image([same, other], labels={"x": "y"}).write(tmp_path / "b")
    lines = compare.differences(first, second)
    assert lines[0].startswith("manifest sha256:")
    assert lines[1:] == [
        "layer 1: 3 paths differ",
        "  a: its content (1 and 1 bytes)",
        "  l: its kind, or what it links to",
        "  only: in one of them only",
        "configuration: config, rootfs",
    ]


def test_the_same_files_compressed_in_another_way(tmp_path: Path) -> None:
    data = [layer({"a": b"1"})]
    first = Image(data).write(tmp_path / "a")
    second = Image(data, compression="zstd").write(tmp_path / "b")
    assert "compressed in another way" in compare.differences(first, second)[-1]


def test_a_layer_that_one_of_them_lacks(tmp_path: Path) -> None:
    first = Image([layer({"a": b"1"})]).write(tmp_path / "a")
    second = Image([layer({"a": b"1"}), layer({"b": b"1"})]).write(tmp_path / "b")
    assert "layer 1 is in one of them only" in compare.differences(first, second)


@pytest.mark.parametrize("compression", ["none", "gzip", "zstd"])
def test_an_archive_holds_the_same_image(tmp_path: Path, compression: str) -> None:
    layout = image(compression=compression).write(tmp_path / "layout")
    for name in ("a.tar", "b.tar"):
        archive.write(layout, tmp_path / name, "vllm:1")
    assert (tmp_path / "a.tar").read_bytes() == (tmp_path / "b.tar").read_bytes()
    before, was = inspect_image(layout)
    after, found = inspect_image(tmp_path / "a.tar")
    assert [each.sass for each in before.objects] == [each.sass for each in after.objects]
    assert [each.diff_id for each in was.layers] == [each.diff_id for each in found.layers]
    manifest = json.loads(run(["tar", "-xOf", str(tmp_path / "a.tar"), "manifest.json"]).stdout)
    assert manifest[0]["RepoTags"] == ["vllm:1"]


def test_a_sealed_layout_says_nothing_of_the_engine(tmp_path: Path) -> None:
    layout = Image([layer({"a": b"1"})], step="RUN x FROM localhost/tmp/x/base:latest").write(
        tmp_path / "layout"
    )
    sealing.seal(layout, task(tmp_path, REMOTE))
    with read_image(layout) as contents:
        assert contents.summary.layers[0].made_by == "RUN x"
        assert contents.summary.labels == {"a": "b c"}
    assert len(list((layout / "blobs/sha256").iterdir())) == 3


def test_a_layout_takes_the_place_of_an_older_one(tmp_path: Path) -> None:
    place = image().write(tmp_path / "place")
    output = Output("oci", str(place))
    delivery.require_place(output)
    with delivery.staging(output) as stage:
        newer = Image([layer({"new": b"1"})]).write(stage / "first")
        delivery.deliver(newer, output)
    with read_image(place) as contents:
        assert list(contents.tree) == ["new"]
    assert [each.name for each in tmp_path.iterdir()] == ["place"]


@pytest.mark.parametrize("kind", ["file", "directory", "no parent", "archive"])
def test_a_place_that_is_taken(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "place"
    output = Output("oci", str(place))
    if kind == "file":
        place.write_text("x")
    elif kind == "no parent":
        output = Output("oci", str(tmp_path / "absent/place"))
    else:
        place.mkdir()
        (place / "notes").write_text("x")
        output = output if kind == "directory" else Output("docker-archive", str(place))
    with pytest.raises(UsageError, match="--output"):
        delivery.require_place(output)


def test_an_archive_on_a_full_disk_leaves_the_older_one(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)], check=False
    )
    if mounted.returncode:
        pytest.skip("nothing can be mounted here")
    try:
        (small / "image.tar").write_text("older")
        layout = Image([layer({"big": bytes(1 << 20)})]).write(tmp_path / "layout")
        with pytest.raises(OSError, match="No space left"):
            delivery.deliver(layout, Output("docker-archive", str(small / "image.tar")))
        assert [each.name for each in small.iterdir()] == ["image.tar"]
        assert (small / "image.tar").read_text() == "older"
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_the_bill_of_materials(tmp_path: Path) -> None:
    status = (
        "Package: gcc-14\nStatus: install ok installed\nArchitecture: amd64\nVersion: 14.2.0-1\n\n"
        "Package: gone\nStatus: deinstall ok config-files\nVersion: 1\n"
    )
    made = image()
    made.layers.append(
        layer({"var/lib/dpkg/status": status.encode(), "usr/lib/os-release": b'ID="ubuntu"\n'})
    )
    vllm = facts.read(wheel(tmp_path))
    selection = Selection(cuda_13_0(), "compile", "x86_64")
    with read_image(made.write(tmp_path / "layout")) as contents:
        texts = [sbom.render(contents, vllm, selection, "x", 0) for _ in range(2)]
    assert texts[0] == texts[1]
    document = json.loads(texts[0])
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.5")
    found = {each["purl"]: each for each in document["components"]}
    assert "pkg:deb/ubuntu/gcc-14@14.2.0-1?arch=amd64" in found
    assert "pkg:pypi/torch@2.11.0" in found
    assert found["pkg:pypi/vllm@0.24.0"]["hashes"] == [{"alg": "SHA-256", "content": vllm.sha256}]
    assert any(purl.startswith("pkg:pypi/nvidia-cuda-nvcc@") for purl in found)
    assert not any("gone" in purl for purl in found)
    labels = {each["name"] for each in document["metadata"]["component"]["properties"]}
    assert labels == set(TRUE)


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("[4/4] STEP 7/14: RUN --mount=x /mnt/docker/wheel.sh", "the wheel"),
        ("STEP 2/3: COPY toolkit/ /usr/local/", "the toolkit"),
        ("#12 [runtime 3/5] RUN --mount=x /mnt/docker/packages.sh", "what the wheel needs"),
        ("STEP 4/9: ENV PATH=/usr/local/bin", ""),
        ("Successfully installed wheel.sh", ""),
    ],
)
def test_steps_in_words(line: str, step: str) -> None:
    assert steps.begun(line) == step
