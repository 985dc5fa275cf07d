"""Input that is no text of a machine: a clear answer, and nothing that runs away."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.doctor.ingest import texts
from tests.doctor.machines import healthy

from dsv4_doctor import codec
from dsv4_doctor.codec import dump_snapshot
from dsv4_doctor.errors import InputError
from dsv4_doctor.ingest import load, reading
from dsv4_doctor.ingest.load import parse


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"", "nothing in it is understood"),
        (b"\0" * 5000, "nothing in it is understood"),
        (b"\xff\xfe\x00\xd8\x00", "nothing in it is understood"),
        (b"the server does not start, please help", "nothing in it is understood"),
        (b"{", "not JSON, or cut short"),
        (b"[" * 100_000, "not JSON, or cut short"),
        (b"{}", "not a snapshot"),
        (b'{"schema": "dsv4-doctor/snapshot/2"}', "newer than this doctor reads"),
        (b'{"schema": "dsv4-doctor/report/1"}', "not a snapshot"),
        (b'{"schema": "dsv4-doctor/snapshot/1", "x": "\xff"}', "not UTF-8"),
        (b"\n" * (reading.MAX_LINES + 2), "more than"),
        (b"\\n" * (reading.MAX_LINES + 2), "more than"),
        (texts.smi_q().encode() * (load.MAX_DOCUMENTS + 1), "texts in one"),
    ],
)
def test_it_says_what_is_wrong(raw: bytes, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        parse(raw, "paste.txt")
    assert str(caught.value).startswith("paste.txt: ")


def test_more_than_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "large"
    path.write_bytes(b"x" * 101)
    monkeypatch.setattr(codec, "MAX_SIZE", 100)
    with pytest.raises(InputError, match="larger than"):
        load.load(str(path))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        load.load(str(tmp_path / "none"))


@pytest.mark.parametrize("long", ["x", "OS:", "[pip3] ", "\x1b[", "PyTorch version:", "| "])
def test_a_line_that_never_ends_is_passed_over(long: str) -> None:
    line = (long * (1 << 20))[: 1 << 20]
    found = parse(f"{line}\n{texts.by_torch()}\n{line}".encode(), "x")
    assert found.driver is not None
    assert found.driver.nvml == "580.65.06"


@pytest.mark.parametrize("fence", ["```json\n{}\n```\n", "\n\n{}", "\ufeff{}"])
def test_a_snapshot_of_ours_is_found_in_what_it_was_pasted_with(fence: str) -> None:
    raw = fence.replace("{}", dump_snapshot(healthy()))
    assert parse(raw.encode(), "x") == healthy()


def test_a_snapshot_of_ours_may_come_from_powershell() -> None:
    assert parse(dump_snapshot(healthy()).encode("utf-16"), "x") == healthy()


def test_sorted_keys_do_no_harm() -> None:
    data = json.loads(dump_snapshot(healthy()))
    assert parse(json.dumps(data, sort_keys=True).encode(), "x") == healthy()


@settings(deadline=None)
@given(st.binary(max_size=2000))
def test_any_bytes_give_a_clear_error(raw: bytes) -> None:
    with pytest.raises(InputError, match="x: "):
        parse(raw, "x")


PIECES = [
    *(f"{key}: " for key in (*texts.TORCH, *texts.SYSTEM, *texts.PYTHON, *texts.CUDA)),
    *("GPU 0: NVIDIA H200", "[pip3] torch==2.11.0", "N/A", "Could not collect", "No CUDA", "13.0"),
    *("<nvidia_smi_log>", "<gpu id='", "</gpu>", "</nvidia_smi_log>", "<!DOCTYPE nvidia_smi"),
    "&x;",
    *("NVSMI LOG", "Attached GPUs : ", "GPU 00000000:01:00.0", "    FB Memory Usage", " : 1 MiB"),
    *("| NVIDIA-SMI 580 ", "Driver Version: 580.65.06", "|   0  NVIDIA H200   On  |", "+---+", "|"),
    *("Collecting environment information...", "vLLM Version : 0.24.0", "GPU Topology:", "A=b"),
    *("{", '"', "\\n", "\n", "\n", "\n", "\t", "\0", "\x1b[1m", "> ", "```", "é", "9" * 40, "-1"),
]  # fmt: skip


@settings(deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
def test_any_mixture_of_pieces_gives_facts_or_a_clear_error(text: str) -> None:
    try:
        found = parse(text.encode(), "x")
    except InputError:
        return
    assert found.origin
    assert codec.parse_snapshot(dump_snapshot(found), "x") == found
