"""What an image is asked for: outputs, bases, wheels and locks that do not do."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.build.conftest import command
from tests.doctor.binary.builders import Part, elf, kernels, library
from tests.doctor.images.builders import Image, layer

from dsv4_build.image import context, facts
from dsv4_build.image.request import (
    Base,
    ImageRequest,
    Output,
    parse_base,
    parse_output,
)
from dsv4_doctor.errors import BuildError, InputError, UsageError

HEX = "0123456789abcdef" * 4


def wheel(
    root: Path,
    name: str = "vllm-0.24.0+g1a2b3c4d5-cp38-abi3-manylinux_2_31_x86_64.whl",
    *,
    code: bytes | None = None,
    metadata: str = "Name: vllm\nVersion: 0.24.0\nRequires-Python: <3.14,>=3.10\n",
    more: dict[str, bytes] | None = None,
) -> Path:
    path = root / name
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("vllm/_C.abi3.so", code or library(kernels("sm_90a", "f")))
        archive.writestr("vllm-0.24.0.dist-info/METADATA", metadata)
        archive.writestr("vllm-0.24.0.dist-info/WHEEL", "Wheel-Version: 1.0\n")
        for member, data in (more or {}).items():
            archive.writestr(member, data)
    return path


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("oci:/a/b", Output("oci", "/a/b")),
        ("docker-archive:x.tar", Output("docker-archive", "x.tar")),
        (
            "registry.example:5000/team/vllm:1",
            Output("reference", "registry.example:5000/team/vllm:1"),
        ),
        ("vllm", Output("reference", "vllm")),
    ],
)
def test_outputs(text: str, output: Output) -> None:
    assert parse_output(text) == output


@pytest.mark.parametrize(
    "text", ["", "oci:", "docker-archive:", "a b", "Name/X", "x@sha256:0", "a//b"]
)
def test_outputs_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match="--output"):
        parse_output(text)


@given(st.text(max_size=30))
def test_any_output_is_one_or_refused(text: str) -> None:
    try:
        assert parse_output(text).place in text
    except UsageError as error:
        assert text in str(error)  # noqa: PT017 - one of two documented ends


def test_the_default_base_is_nvidias_by_its_digest() -> None:
    base = parse_base(None)
    assert base.name.startswith("docker.io/nvidia/cuda:13.0")
    assert base.reference == f"docker.io/nvidia/cuda@{base.digest}"


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("debian:trixie-slim", "debian"),
        ("registry.example:5000/site/base:3", "registry.example:5000/site/base"),
        ("registry.example:5000/site/base", "registry.example:5000/site/base"),
    ],
)
def test_a_base_with_its_digest(name: str, reference: str) -> None:
    base = parse_base(f"{name}@sha256:{HEX}")
    assert base == Base(name, f"sha256:{HEX}")
    assert base.reference == f"{reference}@sha256:{HEX}"


@pytest.mark.parametrize("text", ["debian:trixie", "debian@sha256:12", f"a b@sha256:{HEX}", ""])
def test_a_base_without_a_digest_is_refused_and_told_how_to_get_one(text: str) -> None:
    with pytest.raises(UsageError, match="another image tomorrow") as caught:
        parse_base(text)
    assert "imagetools inspect" in caught.value.hint


def test_a_base_that_lies_here(tmp_path: Path) -> None:
    made = Image([layer({"a": b"b"})])
    _, descriptor = made.blobs()
    base = parse_base(f"oci:{made.write(tmp_path)}")
    assert base == Base(str(tmp_path), descriptor["digest"], local=True)
    with pytest.raises(UsageError, match="no OCI layout"):
        parse_base(f"oci:{tmp_path / 'absent'}")


def test_what_a_wheel_says_of_itself(tmp_path: Path) -> None:
    found = facts.read(wheel(tmp_path))
    assert (found.name, found.version) == ("vllm", "0.24.0+g1a2b3c4d5")
    assert (found.commit, found.machine) == ("1a2b3c4d5", "x86_64")
    assert (found.glibc, found.python, found.exact) == ("2.31", "3.10", False)
    assert found.archs == ("sm_90a",)
    assert not found.needs


def test_the_commit_that_setuptools_scm_wrote(tmp_path: Path) -> None:
    text = b"version = '0.24.0'\n__commit_id__ = commit_id = 'gdeadbeef1'\n"
    found = facts.read(wheel(tmp_path, more={"vllm/_version.py": text}))
    assert found.commit == "deadbeef1"


def test_what_a_wheel_needs(tmp_path: Path) -> None:
    extra = "Name: vllm\nRequires-Dist: x; extra == 'y'\n"
    assert not facts.read(wheel(tmp_path, metadata=extra)).needs
    assert facts.read(wheel(tmp_path, metadata="Name: vllm\nRequires-Dist: torch==2.11\n")).needs


def test_a_wheel_of_one_python_alone(tmp_path: Path) -> None:
    found = facts.read(wheel(tmp_path, "vllm-0.24.0-cp312-cp312-linux_x86_64.whl"))
    assert (found.python, found.exact) == ("3.12", True)


def test_a_wheel_whose_name_says_another_processor(tmp_path: Path) -> None:
    renamed = wheel(tmp_path, "vllm-0.24.0-cp38-abi3-linux_aarch64.whl")
    with pytest.raises(
        InputError, match=r"name says aarch64, vllm/_C\.abi3\.so in it is for another"
    ):
        facts.read(renamed)
    arm = elf(Part(".text", b"code"), kind=3, machine=183)
    right = wheel(tmp_path, "vllm-0.24.0-cp38-abi3-linux_aarch64.whl", code=arm)
    assert facts.read(right).machine == "aarch64"


def test_a_wheel_without_a_processor(tmp_path: Path) -> None:
    arm = elf(Part(".text", b"code"), kind=3, machine=183)
    assert facts.read(wheel(tmp_path, "vllm-1-py3-none-any.whl", code=arm)).machine == "aarch64"
    with pytest.raises(InputError, match="for which processor"):
        facts.read(wheel(tmp_path, "vllm-1-py3-none-any.whl", code=b"no program"))


def test_a_wheel_that_lacks_what_is_required(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="fa3: missing"):
        facts.read(wheel(tmp_path), ["fa3,sm_90a"])


@pytest.mark.parametrize(
    "name", ["vllm.whl", "vllm-0.24.0.tar.gz", "vllm-x-cp38-abi3-linux_x86_64.whl"]
)
def test_what_is_no_wheel_by_its_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="not named as a wheel"):
        facts.read(tmp_path / name)


def asked(tmp_path: Path, lock: str | None = None, wheels: Path | None = None) -> ImageRequest:
    path = tmp_path / "lock.txt" if lock is not None else None
    if path is not None and lock is not None:
        path.write_text(lock)
    base = Base("debian", f"sha256:{HEX}")
    return ImageRequest(wheel(tmp_path), Output("oci", "x"), base, "none", lock=path, wheels=wheels)


LOCK = f"torch==2.11.0 \\\n    --hash=sha256:{HEX}\n"


def test_a_context_has_everything_and_nothing_of_the_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in context.PIP:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", "https://user:it's@index.example/simple")
    store = tmp_path / "store"
    store.mkdir()
    (store / "x-1-py3-none-any.whl").write_bytes(b"x")
    request = asked(tmp_path, LOCK, store)
    found = facts.read(request.wheel)
    context.write(tmp_path / "context", request, found, None)
    root = tmp_path / "context"
    assert (root / "packages/requirements.txt").read_text() == LOCK
    assert (root / "packages/wheels/x-1-py3-none-any.whl").is_file()
    assert (root / "packages/pip.env").read_text() == (
        "export PIP_INDEX_URL='https://user:it'\"'\"'s@index.example/simple'\n"
    )
    assert (root / "docker/Dockerfile").is_file()
    for file in ("doctor/__main__.py", "doctor/dsv4_doctor/process.py", "entrypoint/__main__.py"):
        assert (root / "doctor" / file).is_file()
    assert not list(root.rglob("__pycache__"))
    assert not list(root.rglob("direct_url.json"))


def test_two_contexts_of_one_request_are_alike(tmp_path: Path) -> None:
    request = asked(tmp_path, LOCK)
    found = facts.read(request.wheel)
    for name in ("a", "b"):
        context.write(tmp_path / name, request, found, None)
    assert context.digest(tmp_path / "a") == context.digest(tmp_path / "b")


def test_a_toolkit_goes_into_the_context(tmp_path: Path) -> None:
    kit = tmp_path / "kit"
    (kit / "bin").mkdir(parents=True)
    (kit / "bin/nvcc").write_text("x")
    (kit / "lib").mkdir()
    for name in ("libcudart_static.a", "libcublas.so.13", "libnpps.so.13", "libcufft.so"):
        (kit / "lib" / name).touch()
    (kit / "lib64").symlink_to("lib")
    request = asked(tmp_path)
    context.write(tmp_path / "c", request, facts.read(request.wheel), kit)
    assert (tmp_path / "c/toolkit/cuda/bin/nvcc").read_text() == "x"
    assert (tmp_path / "c/toolkit/cuda/lib64").readlink() == Path("lib")
    # What only building needs stays out.
    names = sorted(each.name for each in (tmp_path / "c/toolkit/cuda/lib").iterdir())
    assert names == ["libcublas.so.13", "libcudart_static.a"]


@pytest.mark.parametrize(
    ("lock", "message"),
    [
        ("torch==2.11.0\n", "needs the hash of every package"),
        (f"{LOCK}vllm==0.24.0 --hash=sha256:{HEX}\n", "locks vllm itself"),
    ],
)
def test_a_lock_that_does_not_do(tmp_path: Path, lock: str, message: str) -> None:
    request = asked(tmp_path, lock)
    with pytest.raises(InputError, match=message) as caught:
        context.write(tmp_path / "context", request, facts.read(request.wheel), None)
    assert "uv pip compile --generate-hashes --no-emit-package vllm" in caught.value.hint


def test_a_directory_without_wheels(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    request = asked(tmp_path, LOCK, tmp_path / "empty")
    with pytest.raises(InputError, match="no wheels in it"):
        context.write(tmp_path / "context", request, facts.read(request.wheel), None)


def test_the_context_alone(tmp_path: Path) -> None:
    target = tmp_path / "context"
    argv = ("image", str(wheel(tmp_path)), "--jit", "none", "--context", str(target))
    done = command(*argv)
    assert done.status == 0, done.stderr
    text = (target / "arguments.env").read_text()
    assert "GLIBC_MIN=2.31\n" in text
    assert "BASE=docker.io/nvidia/cuda@sha256:" in text
    again = command(*argv)
    assert again.status == 2
    assert "something is there already" in again.stderr


def test_a_command_line_without_a_place(tmp_path: Path) -> None:
    done = command("image", str(wheel(tmp_path)))
    assert done.status == 2
    assert "--output oci:DIR" in done.stderr
    done = command("image", str(wheel(tmp_path)), "--output", "oci:x", "--push")
    assert done.status == 2
    assert "--push needs the name of an image" in done.stderr
