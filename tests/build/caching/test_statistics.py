from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from dsv4_build.caching import statistics

LOG = """\
# /w/source/csrc/a.cu
cache_miss
direct_cache_miss
local_storage_miss
preprocessed_cache_miss
remote_storage_error
# /w/source/csrc/b.cu
direct_cache_hit
local_storage_miss
local_storage_write
remote_storage_hit
# /w/source/csrc/c.cu
preprocessed_cache_hit
local_storage_hit
# /w/source/csrc/d.cu
unsupported_compiler_option
# a.o
called_for_link
"""


def test_ccache_tells_each_unit() -> None:
    found = statistics.of_ccache(LOG)
    assert (found.hits, found.misses, found.uncached) == (2, 1, 1)
    assert found.remote_hits == 1
    assert found.remote_errors == 1
    assert found.units == ("/w/source/csrc/b.cu", "/w/source/csrc/c.cu")
    assert found.text.startswith("2 of 4 units came out of it, 1 of these out of the shared cache")
    assert "address and credentials" in found.text


def test_what_cmake_tries_is_no_unit() -> None:
    tried = ["/w/build/CMakeFiles/CMakeScratch/TryCompile-a/src.cxx"]
    tried.append("/usr/share/cmake-3.26/Modules/CMakeCUDACompilerABI.cu")
    log = "".join(f"# {source}\ncache_miss\n" for source in tried)
    assert statistics.of_ccache(log) == statistics.Statistics(0, 0, 0, 0)


def test_nothing_happened() -> None:
    assert statistics.of_ccache("").text == "0 of 0 units came out of it"


def test_sccache_counts_units_and_not_the_steps_of_nvcc() -> None:
    stats = {
        "compile_requests": 3,
        "cache_hits": {"counts": {"CUDA": 1, "PTX": 1, "CUBIN": 2}},
        "cache_misses": {"counts": {"C/C++": 1}},
        "cache_timeouts": 1,
        "cache_read_errors": 1,
        "cache_write_errors": 1,
    }
    found = statistics.of_sccache(json.dumps({"stats": stats}))
    assert found is not None
    assert (found.hits, found.misses, found.uncached, found.remote_errors) == (1, 1, 1, 3)
    assert found.remote_hits is None
    shared = statistics.of_sccache(json.dumps({"stats": stats}), shared=True)
    assert shared is not None
    assert shared.text.startswith(
        "1 of 3 units (CMake's own tries among them) came out of it, 1 of these out of the shared"
    )


@given(text=st.text(max_size=100), value=st.none() | st.integers() | st.lists(st.integers()))
def test_any_text_is_read(text: str, value: object) -> None:
    statistics.of_ccache(text)
    assert statistics.of_sccache(text) is None
    assert statistics.of_sccache(json.dumps({"stats": {"cache_hits": value}})) is None
