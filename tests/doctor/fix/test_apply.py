"""Steps are taken and taken back exactly, whatever goes wrong in between."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.doctor.fix.test_steps import report, sets

from dsv4_doctor import process
from dsv4_doctor.errors import InputError
from dsv4_doctor.fix.apply import FixError, apply, undo
from dsv4_doctor.fix.journal import Done, Journal, opened, place
from dsv4_doctor.fix.steps import Step, plan
from dsv4_doctor.report import Command, Remedy


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with opened(tmp_path / "state" / "fix.jsonl") as opened_journal:
        yield opened_journal


@pytest.fixture
def env_file(tmp_path: Path) -> Path:
    return tmp_path / "config" / "env.sh"


def makes(directory: Path) -> Remedy:
    made = Command(argv=("mkdir", str(directory)), safe=True, undo=("rmdir", str(directory)))
    return Remedy(f"make {directory}", (made,))


def steps(*remedies: Remedy) -> tuple[Step, ...]:
    return plan(report(*((f"a.a.a{n}", "fail", each) for n, each in enumerate(remedies))))


def quiet(_line: str) -> None:
    pass


def test_there_and_back(journal: Journal, env_file: Path, tmp_path: Path) -> None:
    said: list[str] = []
    unsafe = Remedy("x", (Command(argv=("mkdir", str(tmp_path / "no"))),))
    made = tmp_path / "made"
    apply(steps(makes(made), sets(A="1"), unsafe), journal, env_file, said.append)
    assert made.is_dir()
    assert "export A=1\n" in env_file.read_text()
    assert not (tmp_path / "no").exists()
    assert said == [f"written: {env_file}", f"running: mkdir {made}", f"done: mkdir {made}"]
    undo(journal.last_run(), journal, quiet)
    assert not made.exists()
    assert not env_file.exists()
    assert journal.last_run() == ()


def test_runs_are_taken_back_one_by_one(journal: Journal, env_file: Path) -> None:
    apply(steps(sets(A="1")), journal, env_file, quiet)
    first = env_file.read_bytes()
    apply(steps(sets(A="2")), journal, env_file, quiet)
    undo(journal.last_run(), journal, quiet)
    assert env_file.read_bytes() == first
    undo(journal.last_run(), journal, quiet)
    assert not env_file.exists()


def test_the_users_file_comes_back_byte_for_byte(journal: Journal, env_file: Path) -> None:
    env_file.parent.mkdir()
    content = "# mine\r\nexport É=1".encode()
    env_file.write_bytes(content)
    apply(steps(sets(A="1")), journal, env_file, quiet)
    undo(journal.last_run(), journal, quiet)
    assert env_file.read_bytes() == content


def test_doing_it_again_does_nothing(journal: Journal, env_file: Path) -> None:
    apply(steps(sets(A="1")), journal, env_file, quiet)
    before = journal.last_run()
    apply(steps(sets(A="1")), journal, env_file, quiet)
    assert journal.last_run() == before


def test_a_failure_ends_it_and_what_was_done_can_be_taken_back(
    journal: Journal, env_file: Path, tmp_path: Path
) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    later = tmp_path / "later"
    with pytest.raises(FixError, match="theirs"):
        apply(
            steps(sets(A="1"), makes(tmp_path / "one"), makes(theirs), makes(later)),
            journal,
            env_file,
            quiet,
        )
    assert not later.exists()
    undo(journal.last_run(), journal, quiet)
    # The directory that was there before is not the doctor's to remove.
    assert theirs.is_dir()
    assert not (tmp_path / "one").exists()
    assert not env_file.exists()


def test_a_file_that_changed_since_is_left(journal: Journal, env_file: Path) -> None:
    apply(steps(sets(A="1")), journal, env_file, quiet)
    env_file.write_text("export A=mine\n")
    with pytest.raises(FixError, match="changed since"):
        undo(journal.last_run(), journal, quiet)
    assert env_file.read_text() == "export A=mine\n"
    env_file.unlink()
    undo(journal.last_run(), journal, quiet)
    assert journal.last_run() == ()


def test_what_could_not_be_taken_back_stays_in_the_journal(
    journal: Journal, env_file: Path, tmp_path: Path
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    apply(steps(makes(one), makes(two)), journal, env_file, quiet)
    (one / "file").touch()
    with pytest.raises(FixError, match="rmdir"):
        undo(journal.last_run(), journal, quiet)
    assert not two.exists()
    (left,) = journal.last_run()
    assert left.argv == ("mkdir", str(one))


def test_a_program_that_was_interrupted_is_told_and_not_guessed(
    journal: Journal, env_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(process, "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            apply(steps(makes(tmp_path / "made")), journal, env_file, quiet)
    said: list[str] = []
    undo(journal.last_run(), journal, said.append)
    assert "interrupted, so perhaps not done at all: mkdir" in said[0]
    assert "to take it back: rmdir" in said[0]


def test_a_place_that_cannot_be_written(journal: Journal, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FixError, match="cannot be"):
        apply(steps(sets(A="1")), journal, tmp_path / "file" / "env.sh", quiet)


def test_one_at_a_time(journal: Journal, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="another"), opened(tmp_path / "state" / "fix.jsonl"):
        pass


def done(name: str, run: str = "run") -> Done:
    return Done(name, run, "now", ("a.b.c",), argv=("x",), undo=("y",))


def test_a_line_that_was_cut_off_is_as_if_it_were_not(tmp_path: Path) -> None:
    path = tmp_path / "fix.jsonl"
    with opened(path) as journal:
        journal.begin(done("one"))
        journal.begin(done("two"))
    content = path.read_bytes()
    path.write_bytes(content[:-9])
    with opened(path) as journal:
        assert [each.id for each in journal.last_run()] == ["one"]
        journal.begin(done("three"))
        assert [each.id for each in journal.last_run()] == ["one", "three"]
    assert all(json.loads(line) for line in path.read_text().splitlines())


@pytest.mark.parametrize(
    "change",
    [
        lambda line: "x",
        lambda line: "[]",
        lambda line: line.replace("journal/1", "journal/2"),
        lambda line: line.replace('"step"', '"other"'),
        lambda line: line.replace('"argv"', '"argw"'),
        lambda line: "[" * 100_000,
    ],
)
def test_what_is_no_journal_is_named(change: Callable[[str], str], tmp_path: Path) -> None:
    path = tmp_path / "fix.jsonl"
    with opened(path) as journal:
        journal.begin(done("one"))
    path.write_text(change(path.read_text().strip()) + "\n")
    with opened(path) as journal, pytest.raises(InputError, match=r"fix\.jsonl:1: "):
        journal.last_run()


def test_the_journal_is_the_users_alone(journal: Journal, tmp_path: Path) -> None:
    assert (tmp_path / "state" / "fix.jsonl").stat().st_mode & 0o777 == 0o600
    assert place({"XDG_STATE_HOME": "/s"}) == Path("/s/dsv4-doctor/fix.jsonl")
    assert place({}) == Path.home() / ".local/state/dsv4-doctor/fix.jsonl"


@settings(max_examples=20)  # The journal waits for the disk at every line.
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["taken", "failed", "undone"]))))
def test_only_the_newest_run_with_something_left_is_named(
    tmp_path_factory: pytest.TempPathFactory, events: list[tuple[str, str]]
) -> None:
    with opened(tmp_path_factory.mktemp("j") / "fix.jsonl") as journal:
        for name in "abc":
            journal.begin(done(name, f"run-{name}"))
        for name, how in events:
            journal.end(done(name), how)
        gone = {name for name, how in events if how != "taken"}
        left = [name for name in "abc" if name not in gone]
        assert [each.id for each in journal.last_run()] == left[-1:]
