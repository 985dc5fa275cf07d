from __future__ import annotations

import io
import time
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tests.build.reporting.examples import Writer, eventful

from dsv4_build.progress import Progress
from dsv4_build.reporting import status
from dsv4_build.reporting.diary import FILE, Diary


def read(writer: Writer) -> Diary:
    diary = Diary()
    diary.read(writer.lines)
    return diary


def busy() -> Writer:
    writer = Writer()
    writer.begin()
    for unit, (name, family) in enumerate(
        [("_C:csrc/a.cu", "marlin"), ("_C:csrc/b.cu", "fa3"), ("_C:csrc/c.cu", "fa3")]
    ):
        writer.waiting(0, unit, name, family, seconds=100)
        writer.say(unit * 50, "admitted", unit=unit, **{"try": 1})
    writer.ended(100, 0)
    writer.say(100, "paused", unit=2, because="memory")
    writer.memory(110, 5 << 30)
    return writer


def test_one_line_says_what_matters() -> None:
    told = status.text(read(busy()), 1, 5)
    assert told == (
        "[1/5], 1 running (1 fa3), 1 paused, about 4 min left, 5.0 of 8.0 GiB, longest b.cu 60 s"
    )


def test_at_the_beginning_nothing_is_guessed() -> None:
    writer = Writer()
    writer.begin()
    writer.waiting(0, 0, "_C:csrc/a.cu", "fa3", seconds=100)
    writer.say(0, "admitted", unit=0, **{"try": 1})
    writer.memory(1, 1 << 30)
    assert status.seconds_left(read(writer), 0, 50) is None
    assert "left" not in status.text(read(writer), 0, 50)


def test_compilers_that_were_killed_are_told() -> None:
    assert status.text(read(eventful()), 3, 6).endswith("1 killed, tried again alone")


@given(st.integers(0, 40), st.integers(0, 500), st.integers(0, 500))
def test_any_moment_of_a_build_has_a_line(lines: int, done: int, total: int) -> None:
    diary = Diary()
    diary.read(eventful().lines[:lines])
    assert "\n" not in status.text(diary, done, total)
    left = status.seconds_left(diary, done, total)
    assert left is None or left >= 0


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_line_follows_the_diary_as_it_grows(tmp_path: Path) -> None:
    path = tmp_path / FILE
    path.write_text("\n".join(eventful().lines) + "\n")
    stream = Terminal()
    show = Progress(stream)
    lines = busy().lines
    with status.watched(tmp_path, show, look=0.01):
        show.line("[1/5] Building CUDA object CMakeFiles/_C.dir/csrc/a.cu.o")
        with path.open("a") as file:
            file.write("\n".join(lines) + "\n" + lines[-1][:10])
        for _ in range(500):
            if "longest" in stream.getvalue():
                break
            time.sleep(0.01)
    assert "[1/5], 1 running (1 fa3)" in stream.getvalue()
    assert "last.cu" not in stream.getvalue()


def test_off_a_terminal_the_engine_is_told_once_a_minute(tmp_path: Path) -> None:
    stream = io.StringIO()
    show = Progress(stream)
    for number in range(100):
        show.status(f"status {number}")
    assert stream.getvalue().count("\n") == 1


def test_without_a_diary_nothing_is_shown(tmp_path: Path) -> None:
    stream = Terminal()
    with status.watched(tmp_path, Progress(stream), look=0.001):
        time.sleep(0.02)
    assert stream.getvalue() == ""
