"""Versions and limits in the files of a toolkit, as CUDA 11.8 to 13.5 write them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_doctor.probes import cuda_files

CUDA_11_8 = """\
#if defined(__GNUC__)

#if __GNUC__ > 11

#error -- unsupported GNU version! gcc versions later than 11 are not supported!

#endif /* __GNUC__ > 11 */


#if defined(__clang__) && !defined(__ibmxl_vrm__) && !defined(__ICC) && !defined(__APPLE__)

#if (__clang_major__ >= 15) || (__clang_major__ < 3) || ((__clang_major__ == 3) &&  (1))
#error -- unsupported clang version! clang version must be less than 15 and greater than 3.2 .

#endif  /* (__clang_major__ >=  15) || (__clang_major__ < 3) */
"""

# The first of three clang checks is for NVIDIA's own clang, the second for another system.
CUDA_13_5 = """\
#if (__GRCO_CLANG_COMPILER__ == 1) && ((__clang_major__ < 16) || (__clang_major__ > 22))
#error -- unsupported Grace clang version! The version must be 16.x to 22.x.
#endif
#if defined(__GNUC__)

#if __GNUC__ > 16
#error -- unsupported GNU version! gcc versions later than 16 are not supported!
#endif /* __GNUC__ > 16 */

#if defined(__HORIZON__)
#if (__clang_major__ >= 22) || (__clang_major__ < 3)
#error -- unsupported HOS clang version! The version must be must be less than 22
#endif  /* (__clang_major__ >= 22) || (__clang_major__ < 3) */
#endif /* __HORIZON__  */

#if defined(__clang__) && !defined(__ibmxl_vrm__) && !defined(__HORIZON__)

#if (__clang_major__ >= 23) || (__clang_major__ < 3)
#error -- unsupported clang version! clang version must be less than 23 and greater than 3.2 .
"""


@pytest.mark.parametrize(
    ("text", "gcc_max", "clang_below", "line"),
    [(CUDA_11_8, 11, 15, 3), (CUDA_13_5, 16, 23, 6), ("#pragma once\n", None, None, None)],
)
def test_host_config(
    text: str, gcc_max: int | None, clang_below: int | None, line: int | None
) -> None:
    limits = cuda_files.parse_host_config(text, "crt/host_config.h")
    assert (limits.gcc_max, limits.clang_below, limits.line) == (gcc_max, clang_below, line)
    assert limits.path == "crt/host_config.h"


@given(st.text())
def test_any_text_as_host_config(text: str) -> None:
    limits = cuda_files.parse_host_config(text, "header")
    assert (limits.gcc_max is None) == (limits.line is None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#define CUDA_VERSION 13000\n", "13.0"),
        ("/**\n */\n#define CUDA_VERSION 12020\n", "12.2"),
        ("#define  CUDA_VERSION\t11080 /* x */\n", "11.8"),
        ("#define __CUDA_API_VERSION 13000\n", None),
        ("#define CUDA_VERSION unknown\n", None),
        ("", None),
    ],
)
def test_cuda_header(text: str, expected: str | None) -> None:
    assert cuda_files.parse_cuda_header(text) == expected


@given(st.integers(min_value=1, max_value=99), st.integers(min_value=0, max_value=9))
def test_every_release_in_a_header(major: int, minor: int) -> None:
    text = f"#define CUDA_VERSION {major * 1000 + minor * 10}\n"
    assert cuda_files.parse_cuda_header(text) == f"{major}.{minor}"


@given(st.text())
def test_any_text_as_cuda_header(text: str) -> None:
    cuda_files.parse_cuda_header(text)


def test_manifest() -> None:
    text = json.dumps({"cuda": {"name": "CUDA SDK", "version": "12.2.2"}})
    assert cuda_files.parse_manifest(text) == "12.2.2"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"cuda": "13.0"}',
        '{"cuda": {"version": 13}}',
        '{"cuda": {"version": ""}}',
        "[" * 100_000,
    ],
)
def test_a_manifest_without_a_version(text: str) -> None:
    assert cuda_files.parse_manifest(text) is None


@given(
    st.recursive(
        st.none() | st.text() | st.integers(),
        lambda inner: (
            st.lists(inner) | st.dictionaries(st.sampled_from(["cuda", "version", "name"]), inner)
        ),
    )
)
def test_any_json_as_manifest(value: object) -> None:
    version = cuda_files.parse_manifest(json.dumps(value))
    assert version is None or isinstance(version, str)
