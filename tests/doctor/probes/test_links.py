"""Chains of symbolic links, as CUDA_HOME often is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_doctor.probes import links

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The chain of Debian's alternatives: cuda -> alternatives/cuda -> cuda-13.0."""
    real = tmp_path.resolve()
    (real / "cuda-13.0/lib").mkdir(parents=True)
    (real / "alternatives").mkdir()
    (real / "alternatives/cuda").symlink_to(real / "cuda-13.0")
    (real / "cuda").symlink_to(real / "alternatives/cuda")
    return real


def test_a_directory_is_no_chain(root: Path) -> None:
    chain = links.follow(f"{root}/cuda-13.0")
    assert (chain.value, chain.hops, chain.exists) == (f"{root}/cuda-13.0", (), True)
    assert chain.real == chain.value


def test_every_link_of_the_chain(root: Path) -> None:
    chain = links.follow(f"{root}/cuda")
    assert chain.hops == (f"{root}/alternatives/cuda", f"{root}/cuda-13.0")
    assert chain.exists


def test_links_in_the_middle_of_the_path(root: Path) -> None:
    chain = links.follow(f"{root}/cuda/lib")
    assert chain.hops == (f"{root}/alternatives/cuda/lib", f"{root}/cuda-13.0/lib")


def test_relative_targets(root: Path) -> None:
    (root / "newest").symlink_to("./alternatives/../cuda")
    assert links.follow(f"{root}/newest").real == f"{root}/cuda-13.0"


def test_a_parent_is_taken_where_the_link_has_led(root: Path) -> None:
    (root / "alternatives/inner").symlink_to(root / "cuda-13.0/lib")
    assert links.follow(f"{root}/alternatives/inner/..").real == f"{root}/cuda-13.0"


@pytest.mark.parametrize("form", ["{}/", "{}//", "{}/."])
def test_slashes_without_meaning_are_no_link(root: Path, form: str) -> None:
    chain = links.follow(form.format(f"{root}/cuda-13.0"))
    assert (chain.value, chain.hops) == (f"{root}/cuda-13.0", ())


def test_a_relative_value_is_made_absolute(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    chain = links.follow("cuda-13.0")
    assert (chain.value, chain.hops) == ("cuda-13.0", (f"{root}/cuda-13.0",))


def test_a_path_that_is_not_there(root: Path) -> None:
    chain = links.follow(f"{root}/cuda-12.9")
    assert (chain.hops, chain.exists) == ((), False)


def test_a_link_to_nowhere(root: Path) -> None:
    (root / "broken").symlink_to(root / "cuda-12.9")
    chain = links.follow(f"{root}/broken")
    assert (chain.hops, chain.exists) == ((f"{root}/cuda-12.9",), False)


def test_links_in_a_circle_end(root: Path) -> None:
    (root / "left").symlink_to(root / "right")
    (root / "right").symlink_to(root / "left")
    (root / "self").symlink_to(root / "self")
    assert not links.follow(f"{root}/left").exists
    assert not links.follow(f"{root}/self").exists


@given(st.text())
def test_any_value_ends(value: str) -> None:
    chain = links.follow(value)
    assert chain.real
