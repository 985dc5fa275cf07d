from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_build import own_words
from dsv4_build.failure import explained
from dsv4_build.process import ChildFailedError, Job, run_logged

CMAKE = """\
-- The CXX compiler identification is GNU 12.2.0
CMake Error at cmake/wobble.cmake:31 (message):
  The wobble of the toolchain is 3

  which is more than 2.
Call Stack (most recent call first):
  CMakeLists.txt:12 (include)


-- Configuring incomplete, errors occurred!
"""

NINJA = """\
[3/9] Building CUDA object CMakeFiles/_C.dir/a.cu.o
FAILED: CMakeFiles/_C.dir/b.cu.o
/cuda/bin/nvcc -DNAME=error -c b.cu -o CMakeFiles/_C.dir/b.cu.o
b.cu(12): error: identifier "wobble" is undefined
    wobble(1);
    ^

1 error detected in the compilation of "b.cu".
ninja: build stopped: subcommand failed.
"""

PYTHON = """\
Traceback (most recent call last):
  File "setup.py", line 3, in <module>
KeyError: 'WOBBLE'
"""


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (
            CMAKE,
            (
                "CMake Error at cmake/wobble.cmake:31 (message):",
                "The wobble of the toolchain is 3",
                "which is more than 2.",
            ),
        ),
        (NINJA, ('b.cu(12): error: identifier "wobble" is undefined', "wobble(1);", "^")),
        (PYTHON, ("KeyError: 'WOBBLE'",)),
        (NINJA + CMAKE, own_words.cause(CMAKE.splitlines())),
        ("a\n\nb\nc\nd\n", ("b", "c", "d")),
        ("", ()),
    ],
)
def test_the_first_error_is_told_with_what_it_says(log: str, said: tuple[str, ...]) -> None:
    assert own_words.cause(log.splitlines()) == said


@given(st.lists(st.text(max_size=40) | st.sampled_from((CMAKE + NINJA + PYTHON).splitlines())))
def test_any_log_has_three_lines_at_most(lines: list[str]) -> None:
    said = own_words.cause(lines)
    assert len(said) <= 3
    assert bool(said) is any(line.strip() for line in lines)
    stripped = {line.strip()[: own_words.WIDTH] for line in lines}
    assert set(said) <= stripped


def test_an_unknown_failure_of_cmake_is_told_in_three_lines_with_its_log(tmp_path: Path) -> None:
    text = tmp_path / "cmake.txt"
    text.write_text(CMAKE)
    code = f"print(open({str(text)!r}).read()); raise SystemExit(1)"
    job = Job([sys.executable, "-c", code], {}, tmp_path / "log", tmp_path)
    with pytest.raises(ChildFailedError) as caught:
        run_logged(job)
    error = explained(caught.value)
    assert error.hint == ""
    assert str(error).splitlines()[1:] == [
        f"  {line}" for line in own_words.cause(CMAKE.splitlines())
    ]
    assert str(tmp_path / "log") in str(error).splitlines()[0]
