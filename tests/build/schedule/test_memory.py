from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_build.schedule import memory

_GIB = 1 << 30
_MEMINFO = f"MemTotal: {64 << 20} kB\nMemFree: 1 kB\nMemAvailable: {50 << 20} kB\n"
_PSI = "some avg10=12.50 avg60=3.00 avg300=1.00 total=5\nfull avg10=1.25 avg60=0 avg300=0 total=5\n"


def _machine(root: Path, groups: str) -> tuple[Path, Path]:
    proc, sys = root / "proc", root / "sys"
    (proc / "self").mkdir(parents=True)
    (proc / "pressure").mkdir()
    (proc / "self" / "cgroup").write_text(groups)
    (proc / "meminfo").write_text(_MEMINFO)
    (proc / "vmstat").write_text("nr_free_pages 5\noom_kill 3\n")
    (proc / "pressure" / "memory").write_text(_PSI)
    return proc, sys


def _files(directory: Path, **contents: object) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (directory / name.replace("__", ".")).write_text(f"{content}\n")


def test_a_machine_without_groups_has_its_own_memory(tmp_path: Path) -> None:
    proc, sys = _machine(tmp_path, "0::/\n")
    (scope,) = memory.scopes(proc, sys)
    assert scope == memory.Scope("machine", 64 * _GIB, 50 * _GIB, 3, (12.5, 1.25))


def test_version_2_counts_page_cache_as_free_and_high_as_a_limit(tmp_path: Path) -> None:
    proc, sys = _machine(tmp_path, "0::/pod/build\n")
    group = sys / "fs/cgroup/pod/build"
    stat = f"anon 1\ninactive_file {_GIB}\nactive_file {_GIB}\nslab_reclaimable 0"
    _files(group, memory__max=16 * _GIB, memory__high=8 * _GIB, memory__current=5 * _GIB)
    _files(group, memory__stat=stat, memory__events="high 4\noom_kill 2", memory__pressure=_PSI)
    _files(group, memory__oom__group=1)
    _files(sys / "fs/cgroup/pod", memory__max="max", memory__current=0)
    _, scope = memory.scopes(proc, sys)
    assert scope == memory.Scope(str(group), 8 * _GIB, 5 * _GIB, 2, (12.5, 1.25), together=True)


def test_a_group_above_may_be_the_tightest(tmp_path: Path) -> None:
    proc, sys = _machine(tmp_path, "0::/pod/build\n")
    _files(sys / "fs/cgroup/pod/build", memory__max=8 * _GIB, memory__current=_GIB)
    _files(sys / "fs/cgroup/pod", memory__max=10 * _GIB, memory__current=9 * _GIB)
    tight = memory.tightest(memory.scopes(proc, sys))
    assert tight is not None
    assert (tight.name, tight.free) == (str(sys / "fs/cgroup/pod"), _GIB)


@pytest.mark.parametrize("unified", [True, False])
def test_version_1_is_read_also_beside_version_2(tmp_path: Path, unified: bool) -> None:
    lines = "4:memory:/docker/abc\n" + ("0::/docker/abc\n" if unified else "")
    proc, sys = _machine(tmp_path, lines)
    if unified:
        _files(sys / "fs/cgroup/unified/docker/abc", cgroup__procs="")
    group = sys / "fs/cgroup/memory/docker/abc"
    _files(group, memory__limit_in_bytes=6 * _GIB, memory__usage_in_bytes=4 * _GIB)
    # Those of the group alone are not what its limit holds for.
    stat = f"inactive_file 7\ntotal_inactive_file {_GIB}\ntotal_active_file 0"
    _files(group, memory__stat=stat, memory__oom_control="under_oom 0\noom_kill 1")
    _files(sys / "fs/cgroup/memory", memory__limit_in_bytes=9223372036854771712)
    _, scope = memory.scopes(proc, sys)
    assert scope == memory.Scope(str(group), 6 * _GIB, 3 * _GIB, 1, None)


def test_nothing_that_can_be_read_is_no_limit(tmp_path: Path) -> None:
    assert memory.scopes(tmp_path, tmp_path) == ()
    assert memory.tightest(()) is None


def test_this_machine_tells_its_memory() -> None:
    tight = memory.tightest(memory.scopes())
    assert tight is not None
    assert 0 < tight.free <= tight.limit


@given(st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    memory.parse_pressure(text)
    memory.parse_numbers(text)


@given(st.integers(1, 1 << 50))
def test_a_part_is_kept_free_that_never_is_more_than_four_gibibytes(limit: int) -> None:
    assert 192 << 20 <= memory.guard_of(limit) <= 4 * _GIB
