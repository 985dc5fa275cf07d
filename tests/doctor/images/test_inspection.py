"""``inspect`` on images: what is in them, and which labels lie."""

from __future__ import annotations

import json
import platform
import tarfile
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.build.conftest import command
from tests.doctor.binary.builders import Entry as Device
from tests.doctor.binary.builders import Part, ar, elf, kernels, library
from tests.doctor.images.builders import INDEX, Image, digest, layer

from dsv4_doctor.errors import InputError
from dsv4_doctor.formats.inspection_view import layer_rows
from dsv4_doctor.images import labels as label
from dsv4_doctor.images.image import ImageSummary, LayerSummary
from dsv4_doctor.images.inspection import inspect_image
from dsv4_doctor.images.layout import is_image
from dsv4_doctor.resources import files

PAGED = ("_ZN4vllm25paged_attention_v2_kernelIfE", "_ZN4vllm32paged_attention_v2_reduce_kernelIfE")
SITE = "opt/venv/lib/python3.12/site-packages"
VLLM_OBJECT = library(kernels("sm_80", *PAGED), kernels("sm_90", *PAGED))
VLLM = {
    f"{SITE}/vllm/_C.abi3.so": VLLM_OBJECT,
    f"{SITE}/vllm-0.24.0.dist-info/METADATA": b"Name: vllm\nVersion: 0.24.0\n\n",
    f"{SITE}/vllm-0.24.0.dist-info/RECORD": b"vllm/_C.abi3.so,,\nvllm/x.py,,\n",
}
TORCH = {
    f"{SITE}/torch/lib/libtorch_cuda.so": library(Device("sm_100", kind=2)),
    f"{SITE}/torch-2.11.0.dist-info/METADATA": b"Name: torch\nVersion: 2.11.0\n\n",
    f"{SITE}/torch-2.11.0.dist-info/RECORD": b"torch/lib/libtorch_cuda.so,,\n",
}
TRUE = {
    label.DISTRIBUTION: "vllm",
    label.VERSION: "0.24.0",
    label.ARCHS: "sm_80 sm_90",
    label.FEATURES: "paged-v2",
}


def image(
    labels: dict[str, str] | None = None, architecture: str = "amd64", compression: str = "gzip"
) -> Image:
    layers = [layer({"etc/os-release": b"ID=debian\n"}), layer(TORCH), layer(VLLM)]
    return Image(layers, TRUE if labels is None else labels, architecture, compression=compression)


Writer = Callable[[Image, Path], Path]
WRITERS: dict[str, Writer] = {
    "layout": lambda made, path: made.write(path / "oci"),
    "docker archive": lambda made, path: made.write_docker(path / "image.tar"),
    "oci archive": lambda made, path: _archive(made, path / "oci.tar"),
}


def _archive(made: Image, path: Path) -> Path:
    path.write_bytes(layer(made.files()))
    return path


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS.keys())
@pytest.mark.parametrize("compression", ["none", "gzip", "zstd"])
def test_what_is_inside_and_that_the_labels_are_true(
    tmp_path: Path, write: Writer, compression: str
) -> None:
    path = write(image(compression=compression), tmp_path)
    found, summary = inspect_image(path)
    assert {each.name.rpartition("/")[2]: each.sass for each in found.objects} == {
        "_C.abi3.so": ("sm_80", "sm_90"),
        "libtorch_cuda.so": ("sm_100",),
    }
    assert summary.platform == "linux/amd64"
    assert [each.made_by for each in summary.layers] == ["RUN step 0", "RUN step 1", "RUN step 2"]
    assert {each.status for each in summary.claims} == {"true"}
    assert {each.value for each in summary.claims} >= {"sm_80", "sm_90", "paged-v2", "0.24.0"}


def test_members_of_a_static_library_without_device_code_are_not_listed(tmp_path: Path) -> None:
    archive = ar(("host.o", elf(Part(".text", b"code"), kind=1)), ("gpu.o", VLLM_OBJECT))
    made = Image([layer({"usr/lib/libx_static.a": archive})])
    found, _ = inspect_image(made.write(tmp_path))
    assert [each.name for each in found.objects] == ["usr/lib/libx_static.a(gpu.o)"]


@pytest.mark.parametrize(
    ("lie", "reason"),
    [
        ({label.ARCHS: "sm_80 sm_100"}, "sm_100: not in vllm 0.24.0, which has sm_80 sm_90"),
        ({label.FEATURES: "paged-v2 fa3"}, "fa3: not in vllm 0.24.0, which has paged-v2"),
        ({label.VERSION: "0.33.0"}, "0.33.0: vllm 0.24.0 is installed"),
        ({label.DISTRIBUTION: "sglang"}, "0.24.0: sglang is not installed"),
    ],
    ids=["arch of torch only", "feature", "version", "another distribution"],
)
def test_a_label_that_lies_fails(tmp_path: Path, lie: dict[str, str], reason: str) -> None:
    done = command("inspect", str(image({**TRUE, **lie}).write(tmp_path)))
    assert done.status == 1
    assert reason in " ".join(done.stdout.split())


def test_a_wheel_for_another_processor_than_the_image_says(tmp_path: Path) -> None:
    done = command("inspect", f"oci:{image(architecture='arm64').write(tmp_path)}")
    assert done.status == 1
    assert "platform linux/arm64:" in done.stdout
    assert "is for amd64" in " ".join(done.stdout.split())


def test_json_has_the_documented_schema_and_the_layers(tmp_path: Path) -> None:
    made = image()
    done = command("inspect", str(made.write(tmp_path)), "--format", "json")
    document = json.loads(done.stdout)
    schema = json.loads(
        files("dsv4_doctor").joinpath("schemas/inspection-1.json").read_text(encoding="utf-8")
    )
    jsonschema.validate(document, schema)
    assert done.status == 0
    assert [each["diff_id"] for each in document["image"]["layers"]] == list(
        map(digest, made.layers)
    )


def test_markdown_tells_the_layers_and_the_lies(tmp_path: Path) -> None:
    made = image({**TRUE, label.ARCHS: "sm_120"})
    done = command("inspect", str(made.write(tmp_path)), "--format", "markdown")
    assert "| io.dsv4-doctor.archs | sm\\_120 | **no** |" in done.stdout


@pytest.mark.parametrize(
    ("made_by", "shown"),
    [
        ("|2 A=b C= /bin/sh -c --mount=type=bind,x /mnt/step.sh", "/mnt/step.sh"),
        ("/bin/sh -c #(nop) COPY dir:12 in /usr/local/ ", "COPY dir:12 in /usr/local/"),
        ("RUN /bin/sh -c apt-get  update # buildkit", "RUN /bin/sh -c apt-get update # buildkit"),
    ],
)
def test_what_made_a_layer_is_shown_without_its_surroundings(made_by: str, shown: str) -> None:
    one = LayerSummary("sha256:0", "sha256:1", 1, 1, made_by)
    assert layer_rows(ImageSummary("", "linux/amd64", {}, (one,))).rows[0][-1] == shown


def test_requirements_hold_for_images_too(tmp_path: Path) -> None:
    path = str(image().write(tmp_path))
    assert command("inspect", path, "--require", "paged-v2,sm_90").status == 0
    assert command("inspect", path, "--require", "fa3").status == 1
    assert command("inspect", path, "--linkage").status == 2


def test_an_index_of_several_platforms(tmp_path: Path) -> None:
    here = image()
    blobs, descriptor = here.blobs()
    foreign, other = image(architecture="riscv64").blobs()
    index = {
        "mediaType": INDEX,
        "manifests": [
            {**other, "platform": {"os": "linux", "architecture": "riscv64"}},
            {**descriptor, "platform": {"os": "linux", "architecture": "amd64"}},
            {**descriptor, "platform": {"os": "unknown", "architecture": "unknown"}},
        ],
    }
    data = json.dumps(index).encode()
    here.write(tmp_path)
    for name, blob in {**foreign, **blobs, digest(data): data}.items():
        (tmp_path / "blobs" / name.replace(":", "/")).write_bytes(blob)
    top = {"mediaType": INDEX, "digest": digest(data), "size": len(data)}
    (tmp_path / "index.json").write_text(json.dumps({"manifests": [top]}))
    _, summary = inspect_image(tmp_path)
    assert summary.platform in {"linux/amd64", "linux/riscv64"}
    if platform.machine() == "x86_64":
        assert summary.digest == descriptor["digest"]


@pytest.mark.parametrize("what", ["manifest", "config", "layer"])
def test_other_bytes_than_the_digest_says(tmp_path: Path, what: str) -> None:
    made = image(compression="none")
    blobs, descriptor = made.blobs()
    manifest = json.loads(blobs[descriptor["digest"]])
    name = {
        "manifest": descriptor["digest"],
        "config": manifest["config"]["digest"],
        "layer": manifest["layers"][2]["digest"],
    }[what]
    root = made.write(tmp_path)
    path = root / "blobs" / name.replace(":", "/")
    data = bytearray(path.read_bytes())
    at = data.rindex(b"vllm/x.py") if what == "layer" else data.rindex(b"}") - 1
    data[at] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputError, match="other bytes than its digest says"):
        inspect_image(root)


def test_layers_that_the_configuration_does_not_list(tmp_path: Path) -> None:
    made = image()
    root = made.write(tmp_path)
    made.layers = made.layers[:2]
    blobs, _ = made.blobs()
    short = made.config()
    whole = image()
    manifest_blobs, descriptor = whole.blobs()
    manifest = json.loads(manifest_blobs[descriptor["digest"]])
    manifest["config"] = {"digest": digest(short), "size": len(short)}
    data = json.dumps(manifest).encode()
    for blob in (short, data):
        (root / "blobs" / digest(blob).replace(":", "/")).write_bytes(blob)
    (root / "index.json").write_text(json.dumps({"manifests": [{"digest": digest(data)}]}))
    assert blobs
    with pytest.raises(InputError, match="not those that its configuration lists"):
        inspect_image(root)


def test_a_blob_that_was_not_copied(tmp_path: Path) -> None:
    root = image().write(tmp_path)
    for each in (root / "blobs/sha256").iterdir():
        each.unlink()
    with pytest.raises(InputError, match="was it copied whole"):
        inspect_image(root)


def test_a_compressed_archive_says_how_to_go_on(tmp_path: Path) -> None:
    path = tmp_path / "image.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("manifest.json"))
    done = command("inspect", f"docker-archive:{path}")
    assert done.status == 2
    assert "gunzip" in done.stderr


def test_what_is_no_image_is_told(tmp_path: Path) -> None:
    done = command("inspect", f"oci:{tmp_path}")
    assert done.status == 2
    assert "no OCI layout" in done.stderr
    plain = tmp_path / "x.tar"
    plain.write_bytes(layer({"a": b"b"}))
    assert not is_image(plain)
    assert not is_image(tmp_path / "absent")


@settings(max_examples=60)
@given(st.data())
def test_documents_of_any_shape_end_in_one_error(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    json_values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["manifests", "digest", "layers", "config", "Layers", "Config", "size"]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=8,
    )
    path = tmp_path_factory.mktemp("odd") / "image.tar"
    name = data.draw(st.sampled_from(["index.json", "manifest.json"]))
    path.write_bytes(
        layer({name: json.dumps(data.draw(json_values)).encode(), "oci-layout": b"{}"})
    )
    with pytest.raises(InputError) as caught:
        inspect_image(path)
    assert str(path) in str(caught.value)
