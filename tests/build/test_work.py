from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dsv4_build.plan import Step
from dsv4_build.process import Usage
from dsv4_build.work import JOURNAL, Workspace, discard, lock_of, workspace
from dsv4_doctor.errors import BuildError, UsageError

STEP = Step("compile", "all of it", "0123")
KEY = "abc"


def _done(root: Path, content: str = "wheel", step: Step = STEP) -> None:
    with workspace(root, KEY) as work, work.step(step, [], [work.result]):
        work.result.mkdir(exist_ok=True)
        (work.result / "x").write_text(content)


def _kept(root: Path, step: Step = STEP) -> bool:
    with workspace(root, KEY) as work:
        return work.kept(step, [work.result])


def test_every_step_is_in_the_journal_however_it_ends(tmp_path: Path) -> None:
    with workspace(tmp_path / "work", KEY) as work:
        with work.step(STEP, [Usage(1.0, 2.0, 3)]):
            pass
        with pytest.raises(BuildError), work.step(STEP, []):
            raise BuildError("broken")  # noqa: EM101
        with pytest.raises(KeyboardInterrupt), work.step(STEP, []):
            raise KeyboardInterrupt
        entries = work.journal.read()
    assert [each["event"] for each in entries] == ["build", *["begin", "end"] * 3]
    ends = entries[2::2]
    assert [entry["outcome"] for entry in ends] == ["done", "failed", "interrupted"]
    assert ends[0]["usage"] == [{"seconds": 1.0, "cpu_seconds": 2.0, "peak_memory": 3}]
    assert ends[1]["detail"] == "broken"
    assert all(entry["key"] == "0123" for entry in ends)


def test_a_step_is_kept_with_its_key_and_its_bytes(tmp_path: Path) -> None:
    root = tmp_path / "work"
    _done(root)
    assert _kept(root)
    assert not _kept(root, Step("compile", "all of it", "4567"))
    assert not _kept(root, Step("wheel", "all of it", "0123"))
    (root / "result" / "x").write_text("whee1")
    assert not _kept(root)


def test_a_step_that_began_again_is_not_kept(tmp_path: Path) -> None:
    root = tmp_path / "work"
    _done(root)
    with workspace(root, KEY) as work:
        work.journal.append("begin", step=STEP.name, key=STEP.key)
    assert not _kept(root)


def test_a_step_whose_last_line_is_torn_is_not_kept(tmp_path: Path) -> None:
    root = tmp_path / "work"
    _done(root)
    journal = root / JOURNAL
    journal.write_bytes(journal.read_bytes()[:-3])
    assert not _kept(root)


def test_a_step_without_its_output_fails(tmp_path: Path) -> None:
    with workspace(tmp_path / "work", KEY) as work:
        with pytest.raises(BuildError, match="not there"), work.step(STEP, [], [work.result]):
            pass
        assert work.journal.read()[-1]["outcome"] == "failed"


def _break(work: Workspace, message: str = "") -> None:
    """Make the journal one that cannot be written, and fail if there is a message."""
    work.journal.path.unlink()
    work.journal.path.mkdir()
    if message:
        raise BuildError(message)


def test_the_reason_of_a_failure_survives_a_journal_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with workspace(tmp_path / "work", KEY) as work:
        with pytest.raises(BuildError, match="compiler"), work.step(STEP, []):
            _break(work, "compiler")
        work.journal.path.rmdir()
        with pytest.raises(BuildError, match="journal"), work.step(STEP, []):
            _break(work)


def test_what_an_earlier_build_of_the_same_inputs_left_stays(tmp_path: Path) -> None:
    root = tmp_path / "work"
    with workspace(root, KEY) as work:
        work.source.mkdir()
    with workspace(root, KEY) as work:
        assert work.source.exists()
        assert [each["event"] for each in work.journal.read()] == ["build"] * 2


@pytest.mark.parametrize(("key", "clean"), [("other", False), (KEY, True)])
def test_what_other_inputs_left_is_removed(tmp_path: Path, key: str, clean: bool) -> None:
    root = tmp_path / "work"
    with workspace(root, KEY) as work:
        work.source.mkdir()
        (root / "file").touch()
        (root / "link").symlink_to("/")
    with workspace(root, key, clean=clean) as work:
        assert not work.source.exists()
        assert [each["key"] for each in work.journal.read()] == [key]


def test_builds_that_share_a_place_take_turns(tmp_path: Path) -> None:
    root, parked = tmp_path / "work", tmp_path / "parked"
    for key in ("one", "two"):
        with workspace(root, key, parked=parked) as work:
            work.source.mkdir()
            (work.source / key).touch()
    assert [each.name for each in parked.iterdir()] == ["one"]
    with workspace(root, "one", parked=parked) as work:
        assert [each.name for each in work.source.iterdir()] == ["one"]
        assert (parked / "two" / "source" / "two").exists()
        assert not (parked / "one").exists()
    with workspace(root, "two", parked=parked, clean=True) as work:
        assert not work.source.exists()


def test_a_directory_of_somebody_else_is_not_emptied(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("data")
    with pytest.raises(UsageError, match="is not empty"), workspace(tmp_path, KEY):
        pass
    assert (tmp_path / "precious").read_text() == "data"


def test_two_builds_do_not_share_a_directory(tmp_path: Path) -> None:
    root = tmp_path / "work"
    with (
        workspace(root, KEY),
        pytest.raises(BuildError, match=r"another process.*process \d+, since"),
        workspace(root, KEY),
    ):
        pass


_HOLD = """
import sys
from pathlib import Path
from dsv4_build.work import workspace
with workspace(Path(sys.argv[1]), "abc"):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_the_second_waits_and_says_for_whom(tmp_path: Path) -> None:
    root = tmp_path / "work"
    first = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert first.stdin is not None
    assert first.stdout is not None
    assert first.stdout.readline() == "held\n"
    said: list[str] = []

    def say(text: str) -> None:
        said.append(text)
        first.communicate("\n")

    with workspace(root, KEY, say=say) as work:
        assert len(work.journal.read()) == 2
    assert said == [f"{root} is in use by process {first.pid}, {said[0].partition(', ')[2]}"]
    assert said[0].endswith("waiting for it to end")


def test_a_lock_that_was_removed_meanwhile_is_taken_anew(tmp_path: Path) -> None:
    root = tmp_path / "work"
    with workspace(root, KEY):
        lock_of(root).unlink()
        with workspace(root, KEY):
            assert lock_of(root).is_file()


def test_a_place_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BuildError), workspace(tmp_path / "file" / "work", KEY):
        pass


def _filled(work: Workspace) -> None:
    for place in (work.source, work.deps, work.build, work.backend, work.result):
        place.mkdir()
    work.log.touch()


def test_tidying_leaves_the_result_and_the_log(tmp_path: Path) -> None:
    with workspace(tmp_path / "work", KEY) as work:
        _filled(work)
        work.tidy()
        names = sorted(each.name for each in work.root.iterdir())
    assert names == ["build.log", JOURNAL, "result"]


def test_errors_of_an_earlier_attempt_are_not_those_of_this_one(tmp_path: Path) -> None:
    with workspace(tmp_path / "work", KEY) as work:
        work.new_log()
        work.log.write_text("first")
        work.new_log()
        assert not work.log.exists()
        assert (work.root / "build.previous.log").read_text() == "first"


def test_a_directory_that_cannot_be_removed(tmp_path: Path) -> None:
    discard(tmp_path / "none")
    (tmp_path / "file").touch()
    with pytest.raises(BuildError, match="cannot be removed"):
        discard(tmp_path / "file")
