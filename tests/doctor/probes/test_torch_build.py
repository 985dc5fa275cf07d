"""``torch/version.py`` as its releases wrote it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_doctor.facts.python import TorchBuild
from dsv4_doctor.probes import torch_build

TORCH_2_0 = """\
__version__ = '2.0.1+cu117'
debug = False
cuda = '11.7'
git_version = 'e9ebda29d87ce0916ab08c06ab26fd3766a870e5'
hip = None
"""
TORCH_2_11 = """\
from typing import Optional

__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'rocm', 'xpu']
__version__ = '2.11.0+cu130'
debug = False
cuda: Optional[str] = '13.0'
git_version = '70d99e998b4955e0049d13a98d77ae1b14db1f45'
hip: Optional[str] = None
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TORCH_2_0, ("2.0.1+cu117", "11.7", None)),
        (TORCH_2_11, ("2.11.0+cu130", "13.0", None)),
        ("__version__ = '2.13.0+cpu'\ncuda: Optional[str] = None\n", ("2.13.0+cpu", None, None)),
        ("__version__ = '2.9'\ncuda = None\nhip: str = '6.4'\n", ("2.9", None, "6.4")),
        ("__version__: Final = '2.14.0'\ncuda: Optional[str]\n", ("2.14.0", None, None)),
    ],
)
def test_releases(text: str, expected: tuple[str, str | None, str | None]) -> None:
    version, cuda, hip = expected
    assert torch_build.parse(text, "version.py") == TorchBuild(version, cuda, hip, "version.py")


@pytest.mark.parametrize(
    "text", ["", "cuda = '13.0'", "__version__ = version()", "__version__ = 2", "x = ("]
)
def test_a_file_without_a_version(text: str) -> None:
    assert torch_build.parse(text, "version.py") is None


def test_the_file_is_never_run() -> None:
    assert torch_build.parse("raise SystemExit\n__version__ = '1'\n", "") is not None


@given(st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    torch_build.parse(text, "version.py")
