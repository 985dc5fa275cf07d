from __future__ import annotations

import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.build import planning
from tests.doctor.binary import linking

from dsv4_build.handover import traces
from dsv4_build.handover.traces import Place, Trace, search
from dsv4_build.planner import make_plan
from dsv4_build.view import View
from dsv4_doctor.binary.contents import Inspection
from dsv4_doctor.binary.inspection import Options, inspect_path
from dsv4_doctor.errors import BuildError

WORK = Place("/home/ada/cache/work", "the work directory")
HOME = Place("/home/ada", "the home directory")
PLACES = (WORK, HOME)


def _wheel(tmp_path: Path, **files: bytes) -> Path:
    wheel = tmp_path / "w.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return wheel


def _search(tmp_path: Path, **files: bytes) -> tuple[Trace, ...]:
    return search(_wheel(tmp_path, **files), PLACES, tmp_path / "source")


def test_a_path_in_a_binary_is_found_and_counted_for_the_deepest_place_alone(
    tmp_path: Path,
) -> None:
    content = b"\0/home/ada/cache/work/source/a.h\0\0/home/ada/cache/work/b.h\0/home/ada/.cargo/c\0"
    assert _search(tmp_path, module=content) == (
        Trace("module", WORK.path, WORK.what, 2),
        Trace("module", HOME.path, HOME.what, 1),
    )


def test_a_directory_whose_name_only_begins_so_is_another(tmp_path: Path) -> None:
    assert _search(tmp_path, module=b"/home/adam/x /home/ada-2/x /home/ada") == ()


def test_a_file_that_is_the_sources_own_names_nothing(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "readme").write_bytes(b"mkdir /home/ada/models")
    (source / "made").write_bytes(b"mkdir /home/ada/cache/")
    files = {"readme": b"mkdir /home/ada/models", "made": b"mkdir /home/ada/models"}
    assert [each.file for each in _search(tmp_path, **files)] == ["made"]


@given(st.integers(0, 64), st.integers(1, 40))
def test_the_end_of_a_block_hides_nothing_and_counts_nothing_twice(at: int, size: int) -> None:
    needle = b"/home/ada/cache/work/"
    content = b"x" * at + needle + b"y" * 5 + b"/home/ada/z" + needle
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as place:
        patch.setattr(traces, "_CHUNK", size)
        found = {each.what: each.count for each in _search(Path(place), module=content)}
    assert found == {WORK.what: 2, HOME.what: 1}


def test_a_file_that_is_no_wheel_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "w.whl").write_bytes(b"no zip")
    with pytest.raises(BuildError, match="cannot be read"):
        search(tmp_path / "w.whl", PLACES, tmp_path)


def test_places_are_this_machines_alone(tmp_path: Path) -> None:
    plan = planning.plan(tmp_path)
    found = traces.places(plan, Path("/home/ada"))
    assert Place(plan.work, "the work directory") in found
    assert Place("/home/ada", "the home directory") in found
    assert not any(each.path.startswith(("/usr", "/opt")) for each in found)
    assert [len(each.path) for each in found] == sorted((len(e.path) for e in found), reverse=True)


def test_a_checkout_that_was_copied_is_one_of_them(tmp_path: Path) -> None:
    tree = planning.vllm_tree(tmp_path)
    plan = make_plan(planning.vllm_request(tree), planning.machine(), planning.around(tmp_path))
    assert Place(str(tree), "the source that was copied") in traces.places(plan, None)


def test_a_directory_that_was_hidden_from_the_build_must_not_be_named(tmp_path: Path) -> None:
    plan = planning.plan(tmp_path)
    found = _search(tmp_path, module=b"/home/ada/cache/work/a.h")
    traces.require_hidden(found, plan)
    hidden = replace(plan, view=View("namespace", ((WORK.path, "/var/tmp/d/work"),)))
    with pytest.raises(BuildError, match="module: /home/ada/cache/work"):
        traces.require_hidden(found, hidden)


def test_the_place_that_is_the_same_everywhere_is_none_of_this_machine(tmp_path: Path) -> None:
    plan = replace(planning.plan(tmp_path), work="/var/tmp/d/work")
    fixed = replace(plan, view=View("fixed", root="/var/tmp/d"))
    assert not any(each.path == plan.work for each in traces.places(fixed, None))
    assert any(each.path == plan.work for each in traces.places(plan, None))


@pytest.mark.parametrize("kind", ["rpath", "runpath"])
@pytest.mark.parametrize("entry", ["/home/ada", "$ORIGIN:/home/ada/cache/work/build/lib"])
def test_a_module_that_looks_for_libraries_there_is_refused(
    tmp_path: Path, kind: str, entry: str
) -> None:
    with pytest.raises(BuildError, match=r"module\.so: /home/ada"):
        traces.require_no_search_paths([_inspected(tmp_path, kind, entry)], PLACES)


@pytest.mark.parametrize("entry", ["", "$ORIGIN/../lib", "/usr/local/cuda/lib64", "/home/adam"])
def test_other_run_paths_are_no_business_of_this(tmp_path: Path, entry: str) -> None:
    traces.require_no_search_paths([_inspected(tmp_path, "runpath", entry)], PLACES)


def _inspected(tmp_path: Path, kind: str, entry: str) -> Inspection:
    runpath, rpath = (entry, "") if kind == "runpath" else ("", entry)
    module = linking.shared("malloc", runpath=runpath, rpath=rpath)
    wheel = _wheel(tmp_path, **{"module.so": module})
    return inspect_path(wheel, Options(linkage=True))
