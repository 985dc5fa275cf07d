"""Files appear whole or not at all."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import IO

import pytest

from dsv4_doctor.errors import InputError
from dsv4_doctor.files import atomically, write_atomically


def test_ctrl_c_leaves_nothing_half_written(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("before")

    def interrupted(file: IO[bytes]) -> None:
        file.write(b"half")
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        atomically(tmp_path / "out", interrupted)
    assert [each.name for each in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out").read_text() == "before"


def test_a_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("before")
    write_atomically(tmp_path / "out", b"after")
    assert (tmp_path / "out").read_text() == "after"
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o644


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot write here"):
        write_atomically(tmp_path / "no" / "out", b"")
