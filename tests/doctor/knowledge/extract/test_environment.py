"""Environment variables that a tree reads."""

from __future__ import annotations

from tests.doctor.knowledge.extract import serve_tree

from dsv4_doctor.knowledge.extract.tables import read_variables

FOUND = read_variables(serve_tree.tree())


def test_what_is_read_and_by_whom() -> None:
    assert {name: said["read_by"] for name, (said, _, _) in FOUND.items()} == {
        "ASKED_FOR": ["vllm"],
        "CMAKE_ARGS": ["setup.py"],
        "MAX_JOBS": ["vllm/envs.py", "setup.py"],
        "OTHER_NAME": ["vllm/envs.py"],
        "READ_HERE": ["vllm"],
        "SOME_SRC_DIR": ["CMake"],
        "VLLM_MODE": ["vllm/envs.py"],
        "VLLM_PORT": ["vllm/envs.py"],
        "VLLM_ROOT": ["vllm/envs.py"],
        "VLLM_SAMPLER": ["vllm/envs.py"],
    }


def test_defaults() -> None:
    defaults = {name: said["default"] for name, (said, _, _) in FOUND.items() if "default" in said}
    assert defaults == {
        "CMAKE_ARGS": "-x",
        "MAX_JOBS": None,
        "OTHER_NAME": None,
        "VLLM_MODE": "safe",
        "VLLM_PORT": None,
        "VLLM_ROOT": {"expression": "make_root()"},
        "VLLM_SAMPLER": True,
    }
    assert FOUND["VLLM_MODE"][0]["choices"] == ["fast", "safe"]


def test_the_place_that_tells_most() -> None:
    envs = "vllm/envs.py"
    assert FOUND["MAX_JOBS"][1:] == (envs, serve_tree.line_of(envs, '"MAX_JOBS"'))
    assert FOUND["VLLM_SAMPLER"][1:] == (envs, serve_tree.line_of(envs, '"VLLM_SAMPLER": '))
    assert FOUND["SOME_SRC_DIR"][1:] == ("CMakeLists.txt", 1)
    assert FOUND["CMAKE_ARGS"][1:] == ("setup.py", 3)
