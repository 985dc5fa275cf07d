"""Demangled names, and names that are none or mean harm."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.doctor.binary.builders import kernels, library

from dsv4_doctor import process
from dsv4_doctor.binary import demangle as module
from dsv4_doctor.binary.demangle import demangle
from dsv4_doctor.cli.main import run

V1 = "_ZN4vllm25paged_attention_v1_kernelIfEEvv"


def has_library() -> bool:
    try:
        ctypes.CDLL("libstdc++.so.6")
    except OSError:
        return False
    return True


pytestmark = pytest.mark.skipif(not has_library(), reason="no libstdc++.so.6 here")


def test_names() -> None:
    names = [V1, "memcpy", "_Znotamangledname", "_ZN3c105ErrorD1Ev", "_Z1f\n", "_Z1fé"]
    assert demangle(names) == {
        V1: "void vllm::paged_attention_v1_kernel<float>()",
        "_ZN3c105ErrorD1Ev": "c10::Error::~Error()",
    }
    assert demangle([]) == {}


def test_too_many_and_too_long() -> None:
    assert len(demangle(f"_Z{len(str(at)) + 1}f{at}v" for at in range(100))) == 64
    assert demangle([f"_Z{1 << 16}{'f' * (1 << 16)}v"]) == {}


def test_a_name_that_means_harm_harms_nothing() -> None:
    # Each substitution doubles what came before.
    bomb = "_Z1fSt4pairIiiE" + "".join(f"S{'' if at == 0 else at - 1}_" for at in range(9))
    nested = "_Z1f" + "P" * 30_000 + "i"
    assert set(demangle([V1, bomb, nested])) >= {V1}


def test_without_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CODE", "raise SystemExit(1)")
    assert demangle([V1]) == {}
    monkeypatch.setattr(module, "_CODE", "print('', flush=True); import os; os.abort()")
    assert demangle([V1, "_Z1fv"]) == {}

    def fails(*arguments: object, **options: object) -> None:
        msg = "over the limit"
        raise process.ProcessError(msg)

    monkeypatch.setattr(process, "run", fails)
    assert demangle([V1]) == {}


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "_C.so").write_bytes(library(kernels("sm_80", V1)))
    assert run(["inspect", str(tmp_path), "--require", "paged-v1"]) == 0
    assert "void vllm::paged_attention_v1_kernel<float>()" in capsys.readouterr().out
    (tmp_path / "old.so").write_bytes(library(kernels("sm_80", "other")))
    files = [str(tmp_path / "old.so"), str(tmp_path / "_C.so")]
    assert run(["inspect", "--diff", *files, "--kernels"]) == 1
    assert "sm_80 void vllm::paged_attention_v1_kernel<float>()" in capsys.readouterr().out


@settings(max_examples=20, deadline=None)
@given(st.lists(st.text(max_size=30) | st.from_regex(r"_Z[\w]{0,30}"), max_size=5))
def test_any_names(names: list[str]) -> None:
    found = demangle(names)
    assert set(found) <= set(names)
    assert all(text.isprintable() for text in found.values())
