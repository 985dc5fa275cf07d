from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.build.trial.extensions import extension

from dsv4_build.trial.run import Case, Module, Outcome, Spec, run_child

pytestmark = pytest.mark.real

SEEN = "smoke:paged_attention_v2"
MISSING = "#include <unistd.h>\nvoid nowhere(void);"


def _run(spec: Spec, limit: float = 20.0) -> dict[str, Outcome]:
    return {each.name: each for each in run_child(sys.executable, spec, limit=limit)}


def test_a_module_loads(tmp_path: Path) -> None:
    module = Module("fine", str(extension(tmp_path, "fine")))
    assert _run(Spec((module,)))["fine"] == Outcome("fine")


def test_one_that_does_not_load_says_why_and_the_next_is_tried(tmp_path: Path) -> None:
    absent = Module("absent", str(tmp_path / "absent.so"))
    fine = Module("fine", str(extension(tmp_path, "fine")))
    found = _run(Spec((absent, fine)))
    assert "cannot open shared object file" in found["absent"].problem
    assert found["fine"] == Outcome("fine")


def test_one_that_kills_its_process_is_blamed_and_what_follows_is_not_reached(
    tmp_path: Path,
) -> None:
    deadly = extension(tmp_path, "deadly", before="#include <stdlib.h>", body="abort();")
    fine = Module("fine", str(extension(tmp_path, "fine")))
    found = _run(Spec((fine, Module("deadly", str(deadly)), Module("after", fine.path))))
    assert found["fine"] == Outcome("fine")
    assert "signal 6" in found["deadly"].problem
    assert found["after"] == Outcome("after", done=False)


def test_one_that_never_returns_ends_at_the_limit(tmp_path: Path) -> None:
    endless = extension(tmp_path, "endless", before="#include <unistd.h>", body="sleep(600);")
    found = _run(Spec((Module("endless", str(endless)),)), limit=1.0)
    assert "no answer within 1 s" in found["endless"].problem


def test_a_function_that_is_nowhere_matters_when_it_is_called_if_that_is_asked_for(
    tmp_path: Path,
) -> None:
    lacking = extension(tmp_path, "lacking", before=MISSING, body="if (getpid() < 0) nowhere();")
    module = (Module("lacking", str(lacking)),)
    assert "undefined symbol: nowhere" in _run(Spec(module))["lacking"].problem
    assert _run(Spec(module, lazy=True))["lacking"] == Outcome("lacking")


def test_a_case_whose_module_has_no_such_kernel_says_so(tmp_path: Path) -> None:
    module = Module("fine", str(extension(tmp_path, "fine")))
    case = Case("paged", "paged-v2", "fine", SEEN)
    found = _run(Spec((module,), (case,)))["paged"]
    assert "AttributeError" in found.problem
    assert "paged_attention_v2" in found.problem


def test_a_case_of_a_module_that_does_not_load_is_not_reached(tmp_path: Path) -> None:
    module = Module("absent", str(tmp_path / "absent.so"))
    found = _run(Spec((module,), (Case("paged", "paged-v2", "absent", SEEN),)))
    assert found["paged"] == Outcome("paged", done=False)


def test_an_interpreter_that_is_not_there_is_the_problem(tmp_path: Path) -> None:
    spec = Spec((Module("fine", "fine.so"),))
    (found,) = run_child(str(tmp_path / "python"), spec, limit=5.0)
    assert "No such file" in found.problem


def test_torch_that_is_not_there_is_the_problem(tmp_path: Path) -> None:
    module = Module("fine", str(extension(tmp_path, "fine")))
    found = _run(Spec((module,), torch=True))
    assert "No module named 'torch'" in found["fine"].problem
