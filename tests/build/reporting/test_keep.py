from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.build import planning
from tests.build.reporting.examples import eventful

from dsv4_build.journal import Journal
from dsv4_build.publish import REPORT
from dsv4_build.reporting.keep import PAGE, Account, accounted
from dsv4_build.schedule.costs import family_of
from dsv4_build.work import JOURNAL, Workspace
from dsv4_doctor.errors import BuildError
from dsv4_doctor.resources import files


@pytest.fixture
def account(tmp_path: Path) -> Account:
    root = tmp_path / "work"
    root.mkdir()
    work = Workspace(root, Journal.at(root / JOURNAL))
    work.journal.append("build", key="k", start="2026-11-29T21:00:00.000+00:00")
    return Account(planning.plan(tmp_path), work, family_of)


def step(account: Account, name: str, outcome: str = "done") -> None:
    account.work.journal.append("begin", step=name)
    account.work.journal.append(
        "end",
        step=name,
        outcome=outcome,
        start="2026-11-29T21:00:01.000+00:00",
        end="2026-11-29T21:00:04.500+00:00",
        usage=[{"seconds": 3, "cpu_seconds": 5.5, "peak_memory": 7}],
    )


def silent(_text: str) -> None:
    pass


def fail(
    account: Account,
    error: BaseException,
    places: Sequence[Path] = (),
    say: Callable[[str], None] = silent,
) -> None:
    with accounted(account, list(places), say):
        raise error


def stored(directory: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((directory / REPORT).read_text())
    schema = json.loads((files("dsv4_doctor.schemas") / "build-report-1.json").read_text())
    jsonschema.validate(content, schema)
    assert (directory / PAGE).read_text().startswith("<!doctype html>")
    return content


def test_a_build_that_failed_has_its_account_with_units_and_cause(
    account: Account, tmp_path: Path
) -> None:
    (account.work.root / "schedule.jsonl").write_text("\n".join(eventful().lines) + "\n{torn")
    said: list[str] = []
    step(account, "source")
    step(account, "compile", "failed")
    msg = "ninja failed: fatal: cannot reach https://me:hunter2@git.example/x"
    error = BuildError(msg, hint="first cause: the network")
    with pytest.raises(BuildError, match="ninja failed"):
        fail(account, error, [tmp_path / "reports"], said.append)
    content = stored(tmp_path / "reports")
    assert content == stored(account.work.root)
    assert content["outcome"] == "failed"
    assert content["result"] is None
    assert "hunter2" not in json.dumps(content) + (tmp_path / "reports" / PAGE).read_text()
    assert content["error"].endswith("https://git.example/x\nfirst cause: the network")
    assert content["seconds"] == 7.0
    assert len(content["units"]) == 5
    assert said == [f"report: {tmp_path / 'reports' / PAGE}"]


def test_without_the_engine_ninjas_log_tells(account: Account) -> None:
    account.work.build.mkdir()
    line = "5\t2000\t170\tCMakeFiles/_C.dir/csrc/a.cu.o\tabc\n"
    (account.work.build / ".ninja_log").write_text(f"# ninja log v6\n{line}")
    with accounted(account, [], silent):
        step(account, "compile")
        account.result = {"schema": "dsv4-doctor/built/1"}
    content = stored(account.work.root)
    assert content["outcome"] == "built"
    assert content["result"] == {"schema": "dsv4-doctor/built/1"}
    assert [each["name"] for each in content["units"]] == ["_C:csrc/a.cu"]
    assert content["measured"] is False


def test_a_build_of_which_all_was_kept_shows_how_it_was_made(account: Account) -> None:
    (account.work.root / "schedule.jsonl").write_text("\n".join(eventful().lines))
    with accounted(account, [], silent):
        step(account, "compile")
    before = stored(account.work.root)
    account.work.journal.append("build", key="k", start="2026-11-29T22:00:00.000+00:00")
    with accounted(account, [], silent):
        account.result = {"artifacts": []}
    assert stored(account.work.root) == {**before, "result": {"artifacts": []}}


def test_ctrl_c_and_a_crash_leave_an_account_too(account: Account) -> None:
    account.work.journal.append("begin", step="compile")
    with pytest.raises(KeyboardInterrupt):
        fail(account, KeyboardInterrupt())
    content = stored(account.work.root)
    assert content["outcome"] == "interrupted"
    assert content["steps"][0]["outcome"] == "cut off"
    with pytest.raises(ZeroDivisionError):
        fail(account, ZeroDivisionError())
    assert "ZeroDivisionError" in str(account.content["error"])


def test_an_account_that_cannot_be_written_stops_no_build(account: Account, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    said: list[str] = []
    with accounted(account, [tmp_path / "file"], said.append):
        step(account, "compile")
    assert "no report could be written" in said[0]
