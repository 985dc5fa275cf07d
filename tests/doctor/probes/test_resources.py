"""Limits, remains of earlier builds, and settings of package installers."""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from dsv4_doctor.probes import resources

if TYPE_CHECKING:
    from pathlib import Path


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_limits_are_those_of_this_process(tmp_path: Path) -> None:
    write(tmp_path / "proc/meminfo", "MemTotal: 8 kB\nSwapTotal: 4 kB\n")
    found = resources.survey({}, tmp_path, tmp_path)
    assert found.swap == 4096
    assert (found.nofile_soft, found.nofile_hard) == resource.getrlimit(resource.RLIMIT_NOFILE)
    assert (found.memlock_soft, found.memlock_hard) == resource.getrlimit(resource.RLIMIT_MEMLOCK)
    assert found.place("build") is not None
    assert found.place("no such role") is None


def test_what_cmake_remembers_and_is_gone(tmp_path: Path) -> None:
    write(tmp_path / "CMakeLists.txt", "")
    there = write(tmp_path / "there", "")
    cache = write(
        tmp_path / "build/temp/CMakeCache.txt",
        "CMAKE_MAKE_PROGRAM:FILEPATH=/tmp/pip-build-env-a/overlay/bin/ninja\n"
        f"CMAKE_CUDA_COMPILER:FILEPATH={there}\n"
        "CMAKE_CXX_COMPILER:STRING=c++\n"
        "CMAKE_AR:FILEPATH=/no/ar\n",
    )
    (found,) = resources.cmake_caches(tmp_path)
    assert found.path == str(cache)
    assert found.missing == ("CMAKE_MAKE_PROGRAM=/tmp/pip-build-env-a/overlay/bin/ninja",)


def test_caches_count_only_in_a_source_tree(tmp_path: Path) -> None:
    write(tmp_path / "build/CMakeCache.txt", "CMAKE_COMMAND:INTERNAL=/no/cmake\n")
    assert resources.cmake_caches(tmp_path) == ()
    write(tmp_path / "CMakeLists.txt", "")
    assert len(resources.cmake_caches(tmp_path)) == 1


@given(st.text())
def test_any_text_as_a_cache(text: str) -> None:
    resources.missing_programs(text)


def test_settings_that_replace_pypi(tmp_path: Path) -> None:
    pip = write(
        tmp_path / "home/.config/pip/pip.conf",
        "[global]\nextra-index-url = https://extra/\nindex-url = https://me:pw@wheels/simple\n",
    )
    uv = write(tmp_path / "uv.toml", 'index-url = "https://mirror/simple"\n')
    environ = {"HOME": f"{tmp_path}/home", "UV_CONFIG_FILE": str(uv)}
    assert resources.survey(environ, tmp_path, tmp_path).package_indexes == {
        f"{pip}: index-url": "https://<set>@wheels/simple",
        f"{uv}: index-url": "https://mirror/simple",
    }


def test_no_settings(tmp_path: Path) -> None:
    assert resources.survey({"HOME": str(tmp_path)}, tmp_path, tmp_path).package_indexes == {}
