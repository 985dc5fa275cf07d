from __future__ import annotations

import io

from dsv4_build.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_plain_lines_are_few() -> None:
    stream = io.StringIO()
    progress = Progress(stream)
    progress.step("compile", "the whole wheel")
    for number in range(1, 201):
        progress.line(
            f"[{number}/200] Building CUDA object CMakeFiles/_C.dir/csrc/unit{number}.cu.o"
        )
    progress.line("-- Configuring done")
    lines = stream.getvalue().splitlines()
    assert lines[0].startswith("compile")
    assert "[1/200] compiling unit1.cu" in lines[1]
    assert "[200/200] compiling unit200.cu" in lines[-1]
    assert len(lines) == 3


def test_a_terminal_sees_one_moving_line() -> None:
    stream = Terminal()
    progress = Progress(stream)
    progress.line("[1/2] Building CUDA object CMakeFiles/_C.dir/csrc/a.cu.o")
    progress.line("[2/2] Linking CUDA shared module out/_C.abi3.so")
    progress.say("done")
    written = stream.getvalue()
    assert written.count("\n") == 1
    assert "[2/2] linking _C.abi3.so" in written
    assert written.endswith("\r\033[K           done\n")
