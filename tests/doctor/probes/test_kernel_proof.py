"""Proving a kernel family by the first cubins, without reading a whole library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from dsv4_doctor.arch import Arch
from dsv4_doctor.binary.device_code import DeviceImages
from dsv4_doctor.binary.payload import UndecodedError
from dsv4_doctor.errors import InputError
from dsv4_doctor.probes import kernel_proof

if TYPE_CHECKING:
    from pathlib import Path

FA3 = "_ZN7cutlass13device_kernelIN5flash16FlashAttnFwdSm90INS_1EEEEEvNT_6ParamsE"
HOPPER = Arch(90, "a")


@dataclass(frozen=True)
class Image:
    """A cubin with the names of its kernels, or the error that reading it gives."""

    names: tuple[str, ...] = ()
    arch: Arch = HOPPER
    kind: str = "cubin"
    error: Exception | None = None


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, list[Image]]:
    """A file, and the images that the inspector finds in it, for the test to fill."""
    path = tmp_path / "_vllm_fa3_C.abi3.so"
    path.write_bytes(b"a library")
    images: list[Image] = []

    def read_kernels(_source: object, image: Image) -> list[tuple[str, int]]:
        if image.error is not None:
            raise image.error
        return [(name, 92416) for name in image.names]

    def read_images(_source: object) -> DeviceImages:
        return DeviceImages(tuple(images))  # type: ignore[arg-type]

    monkeypatch.setattr(kernel_proof, "read_images", read_images)
    monkeypatch.setattr(kernel_proof, "read_kernels", read_kernels)
    return path, images


def test_a_kernel_of_the_family_proves_it(library: tuple[Path, list[Image]]) -> None:
    path, images = library
    images += [Image(("prepare_varlen",)), Image((FA3,))]
    assert kernel_proof.proved(path, "fa3")


@pytest.mark.parametrize(
    "image",
    [
        Image((FA3,), arch=Arch(80)),
        Image((FA3,), kind="ptx"),
        Image(("flash_fwd_kernel",)),
    ],
)
def test_what_is_no_proof(library: tuple[Path, list[Image]], image: Image) -> None:
    path, images = library
    images.append(image)
    assert not kernel_proof.proved(path, "fa3")


@pytest.mark.parametrize("error", [UndecodedError("no decoder"), InputError("damaged")])
def test_a_cubin_that_cannot_be_read_hides_no_other(
    library: tuple[Path, list[Image]], error: Exception
) -> None:
    path, images = library
    images += [Image(error=error), Image((FA3,))]
    assert kernel_proof.proved(path, "fa3")


def test_reading_ends_after_the_first_cubins(library: tuple[Path, list[Image]]) -> None:
    path, images = library
    images += [*[Image(("other",))] * 3, Image((FA3,))]
    assert not kernel_proof.proved(path, "fa3", most=3)
    assert kernel_proof.proved(path, "fa3", most=4)


def test_an_unknown_family_is_never_proved(library: tuple[Path, list[Image]]) -> None:
    path, images = library
    images.append(Image((FA3,)))
    assert not kernel_proof.proved(path, "no-such-family")


def test_a_file_that_is_no_library(tmp_path: Path) -> None:
    (tmp_path / "x.so").write_text("text")
    with pytest.raises(InputError, match=r"x\.so"):
        kernel_proof.proved(tmp_path / "x.so", "fa3")
