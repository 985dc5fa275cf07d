"""What a text cannot say is unknown: no check passes or fails on a fact that is not there."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.doctor.ingest import texts

from dsv4_doctor.checks.registry import Context, run_checks
from dsv4_doctor.codec import dump_snapshot, parse_snapshot
from dsv4_doctor.errors import InputError
from dsv4_doctor.evaluation import evaluate
from dsv4_doctor.ingest.load import parse
from dsv4_doctor.knowledge import load
from dsv4_doctor.report import Finding
from dsv4_doctor.snapshot import Snapshot
from dsv4_doctor.target import PURPOSES, Purpose, Target

ONE = ["NVIDIA H200"]
ONE_GPU = {**texts.CUDA, "GPU models and configuration": "GPU 0: NVIDIA H200"}
TEXTS = {
    "torch": texts.by_torch(cuda=ONE_GPU),
    "vllm": texts.by_vllm(cuda=ONE_GPU),
    "-q": texts.smi_q(ONE),
    "-q -x": texts.smi_xml(ONE),
    "table": texts.smi_table(ONE),
    "nvlink": texts.smi_list(ONE, "uu") + texts.smi_table(ONE),
    "topology": texts.TOPOLOGY + "\n" + texts.smi_q(),
    "message": "Failed to initialize NVML: Driver/library version mismatch\n",
    "old toolkit": texts.by_vllm(cuda={**ONE_GPU, "CUDA runtime version": "12.1.105"}),
    "together": texts.by_torch(cuda=ONE_GPU) + texts.smi_q(ONE),
}
# Of two GPUs one may be lost without a trace, which leaves a text of another machine.
ONE_EACH = set(TEXTS) - {"topology"}


def read(text: str) -> Snapshot:
    return parse(text.encode(), "paste.txt")


def judge(snapshot: Snapshot, purpose: Purpose = "serve") -> tuple[Finding, ...]:
    target = Target("0.24.0", (), ("deepseek-v4", "fa3"), purpose, features_asked=False)
    return run_checks(Context(snapshot, target, load.release("0.24.0")))


def statuses(snapshot: Snapshot, purpose: Purpose, status: str) -> set[str]:
    return {each.id for each in judge(snapshot, purpose) if each.status == status}


@pytest.mark.parametrize("purpose", PURPOSES)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_losing_any_line_makes_nothing_pass_or_fail(text: str, purpose: Purpose) -> None:
    whole = read(text)
    lines = text.splitlines()
    seen: set[object] = set()
    for gone in range(len(lines)):
        try:
            damaged = read("\n".join(lines[:gone] + lines[gone + 1 :]))
        except InputError:
            continue
        facts = repr({**vars(damaged), "origin": ()})
        if facts in seen:
            continue
        seen.add(facts)
        for status in ("pass", "fail"):
            assert statuses(damaged, purpose, status) <= statuses(whole, purpose, status), gone


@settings(deadline=None)
@given(
    st.sampled_from(sorted(set(TEXTS) - {"topology"})),
    st.sampled_from(PURPOSES),
    st.integers(),
    st.floats(0, 1),
)
def test_losing_many_lines_makes_nothing_pass_or_fail(
    name: str, purpose: Purpose, seed: int, share: float
) -> None:
    chance = random.Random(seed)
    lines = [line for line in TEXTS[name].splitlines() if chance.random() > share]
    try:
        damaged = read("\n".join(lines))
    except InputError:
        return
    for status in ("pass", "fail"):
        whole = statuses(read(TEXTS[name]), purpose, status)
        assert statuses(damaged, purpose, status) <= whole


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_what_no_text_tells_is_unknown(text: str) -> None:
    for purpose in PURPOSES:
        found = {each.id: each.status for each in judge(read(text), purpose)}
        for identifier in (
            "cuda.toolkit.coherence",
            "cuda.home.agreement",
            "python.headers.present",
            "flash_attn.package.build",
            "arch.installed.runs",
        ):
            assert found[identifier] == "unknown", identifier


@pytest.mark.parametrize("purpose", PURPOSES)
def test_a_healthy_text_has_no_failure(purpose: Purpose) -> None:
    for name in ("torch", "vllm", "table", "nvlink"):
        assert statuses(read(TEXTS[name]), purpose, "fail") == set(), name


def test_what_a_text_tells_is_judged() -> None:
    found = {each.id: each.status for each in judge(read(TEXTS["old toolkit"]), "build")}
    assert found["cuda.toolkit.version"] == "fail"
    assert found["torch.build.toolkit"] == "fail"
    assert found["host.compiler.ceiling"] == "fail"
    assert found["driver.nvidia.present"] == "pass"


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_stored_it_is_judged_the_same(text: str) -> None:
    snapshot = read(text)
    stored = parse_snapshot(dump_snapshot(snapshot), "x")
    assert stored == snapshot
    assert judge(stored) == judge(snapshot)


def test_of_another_kind_of_machine_one_thing_is_said() -> None:
    python = {**texts.PYTHON, "Python platform": "macOS-15.1.1-arm64-arm-64bit"}
    snapshot = read(texts.by_torch(python=python))
    release = load.release("0.24.0")
    for purpose in PURPOSES:
        report = evaluate(snapshot, Target("0.24.0", purpose=purpose), release)
        assert [(each.id, each.status) for each in report.findings] == [
            ("host.platform.target", "fail")
        ]
        assert "macOS" in report.findings[0].title
        assert report.exit_code() == 1
