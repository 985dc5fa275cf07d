from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_build.handover import sums
from dsv4_build.publish import publish, sha256

DIGESTS = st.text("0123456789abcdef", min_size=64, max_size=64)
# Whatever a file system takes as a name, with what is escaped more often.
NAMES = st.text(
    st.one_of(
        st.sampled_from("\\\n\r *"),
        st.characters(codec="utf-8", exclude_characters="/\0"),
    ),
    min_size=1,
)


@given(st.dictionaries(NAMES, DIGESTS))
def test_what_is_written_is_read(digests: dict[str, str]) -> None:
    assert sums.read(sums.render(digests)) == digests


def _check(directory: Path) -> subprocess.CompletedProcess[str]:
    program = shutil.which("sha256sum")
    if program is None:
        pytest.skip("no sha256sum")
    argv = [program, "--check", "--strict", sums.NAME]
    return subprocess.run(argv, cwd=directory, capture_output=True, text=True, check=False)


def _result(directory: Path, *names: str) -> Path:
    for name in names:
        file = directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"content of {name}")
    return directory


def test_sha256sum_agrees(tmp_path: Path) -> None:
    out = tmp_path / "out"
    publish(_result(tmp_path / "a", "a.whl", "sub/b.o", "with space", "back\\slash\nline"), out)
    done = _check(out)
    assert (done.returncode, done.stdout.count(": OK")) == (0, 4), done.stderr


def test_sha256sum_sees_a_changed_file(tmp_path: Path) -> None:
    publish(_result(tmp_path / "a", "a.whl"), tmp_path / "out")
    (tmp_path / "out" / "a.whl").write_text("other")
    assert _check(tmp_path / "out").returncode == 1


def test_an_earlier_wheel_keeps_its_line_and_one_that_is_gone_loses_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    publish(_result(tmp_path / "one", "one.whl", "gone.whl"), out)
    (out / "gone.whl").unlink()
    publish(_result(tmp_path / "two", "two.whl"), out)
    found = sums.read((out / sums.NAME).read_text())
    assert found == {name: sha256(out / name) for name in ("one.whl", "two.whl")}
    assert _check(out).returncode == 0


def test_a_result_that_was_handed_over_before_gives_a_list_without_the_old_one(
    tmp_path: Path,
) -> None:
    publish(_result(tmp_path / "a", "a.o"), tmp_path / "b")
    made = publish(tmp_path / "b", tmp_path / "c")
    assert [each.name for each in made] == ["a.o"]
    assert _check(tmp_path / "c").returncode == 0
