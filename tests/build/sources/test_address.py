from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_build.sources import address
from dsv4_doctor.errors import InputError


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/NVIDIA/cutlass.git",
        "https://github.com/nvidia/cutlass",
        "https://github.com/NVIDIA/cutlass/",
        "https://someone:secret@GitHub.com/NVIDIA/cutlass.git",
        "ssh://git@github.com:22/NVIDIA/cutlass.git",
        "git@github.com:NVIDIA/cutlass.git",
        "git://github.com/NVIDIA/cutlass.git",
    ],
)
def test_every_spelling_is_the_same_repository(url: str) -> None:
    found = address.parse(url)
    assert found.place == "github.com/nvidia/cutlass.git"
    assert found.called("NVIDIA/cutlass")
    assert found.called("github.com/nvidia/cutlass.git")
    assert not found.called("cutlass")


@pytest.mark.parametrize(
    ("parent", "url", "expected"),
    [
        ("https://h/a/b.git", "../c.git", "https://h/a/c.git"),
        ("https://h/a/b", "../../x/c", "https://h/x/c"),
        ("https://h/a/b.git", "./c", "https://h/a/b.git/c"),
        ("https://h/a/b.git", "../../../../c", "https://h/c"),
        ("git@h:a/b.git", "../c.git", "git@h:a/c.git"),
        ("https://h/a/b.git", "https://other/c", "https://other/c"),
        ("/srv/b.git", "../c", "../c"),
    ],
)
def test_a_relative_address_is_beside_its_parent(parent: str, url: str, expected: str) -> None:
    assert address.join(parent, url) == expected


@given(st.text() | st.from_regex(r"(https|ssh|git)://[ -~]{0,30}", fullmatch=True))
def test_no_address_leaves_the_cache(url: str) -> None:
    try:
        place = PurePosixPath(address.parse(url).place)
    except InputError:
        return
    assert not place.is_absolute()
    assert not any(part in {"..", "."} or part.startswith("-") for part in place.parts)


_PART = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,8}", fullmatch=True).filter(
    lambda part: not part.endswith(".git")
)


@given(_PART, _PART, _PART)
def test_a_place_is_an_address_of_itself(host: str, owner: str, name: str) -> None:
    try:
        found = address.parse(f"https://{host}/{owner}/{name}.git")
    except InputError:
        assert "_" in host
        return
    assert address.parse(f"https://{found.place}") == found
