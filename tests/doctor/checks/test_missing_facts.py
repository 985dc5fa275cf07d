"""Any fact may be missing: checks stay whole, say nothing that is not so, and never say None."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.machines import SITE, bare, healthy, python_environment

from dsv4_doctor.checks.registry import Context, run_checks
from dsv4_doctor.facts.python import DeviceCode, Distribution
from dsv4_doctor.knowledge import load
from dsv4_doctor.report import Finding
from dsv4_doctor.snapshot import Snapshot
from dsv4_doctor.target import PURPOSES, Purpose, Target

RELEASES = load.release_names()


def serving() -> Snapshot:
    """Return the healthy machine with vLLM installed."""
    code = DeviceCode(f"{SITE}/vllm/_C.abi3.so", "vllm", ("sm_90",), (), ("paged-v2",))
    fa3 = DeviceCode(
        f"{SITE}/vllm/vllm_flash_attn/_vllm_fa3_C.abi3.so", "vllm", ("sm_90a",), (), ("fa3",)
    )
    python = python_environment(
        distributions=(
            *python_environment().distributions,
            Distribution("vllm", "0.24.0", SITE),
        ),
        binaries=(code, fa3),
    )
    return healthy(python=python)


def lose(value: Any, choose: Any) -> Any:
    """Return the value with some of its optional facts gone.

    Args:
        value: A dataclass.
        choose: Says of one field whether it is lost.
    """
    changes: dict[str, Any] = {}
    for field in fields(value):
        held = getattr(value, field.name)
        optional = "None" in str(field.type)
        if optional and choose(field.name):
            changes[field.name] = None
        elif isinstance(held, tuple) and held and field.name != "probes" and choose(field.name):
            changes[field.name] = ()
        elif is_dataclass(held):
            changes[field.name] = lose(held, choose)
        elif isinstance(held, tuple) and held and is_dataclass(held[0]):
            changes[field.name] = tuple(lose(each, choose) for each in held)
    return replace(value, **changes)


def judge(snapshot: Snapshot, purpose: Purpose, release: str, arch: str) -> tuple[Finding, ...]:
    features = tuple(name for name in ("deepseek-v4", "fa3") if load.release(release).has(name))
    target = Target(release, (arch,) if arch else (), features, purpose, "article")
    return run_checks(Context(snapshot, target, load.release(release)))


@given(
    st.sampled_from([healthy(), bare(), serving()]),
    st.sampled_from(PURPOSES),
    st.sampled_from(RELEASES),
    st.sampled_from(["sm_90", "sm_120", ""]),
    st.randoms(use_true_random=False),
    st.sampled_from([0.1, 0.4, 0.8]),
)
def test_checks_take_any_facts(
    snapshot: Snapshot, purpose: Purpose, release: str, arch: str, chance: Any, share: float
) -> None:
    damaged = lose(snapshot, lambda _name: chance.random() < share)
    for finding in judge(damaged, purpose, release, arch):
        assert not re.search(r"\bNone\b", said(finding)), finding


def said(finding: Finding) -> str:
    """Return everything that a finding says."""
    remedy = finding.remedy
    do = [remedy.text, *(each.shell() for each in remedy.commands)] if remedy is not None else []
    read = [f"{each.where} {each.what}" for each in finding.evidence]
    return "\n".join([finding.title, finding.found, finding.expected, *read, *do])


@pytest.mark.parametrize("snapshot", [healthy(), serving()], ids=["build", "serve"])
@pytest.mark.parametrize("purpose", PURPOSES)
def test_losing_a_fact_makes_nothing_pass_that_did_not(
    snapshot: Snapshot, purpose: Purpose
) -> None:
    whole = {
        each.id for each in judge(snapshot, purpose, "0.24.0", "sm_90") if each.status == "pass"
    }
    names = {
        field.name
        for part in (snapshot.python, snapshot.toolkits, snapshot.driver)
        if part
        for field in fields(part)
    }
    for name in sorted(names):
        damaged = lose(snapshot, lambda field, name=name: field == name)
        now = {
            each.id for each in judge(damaged, purpose, "0.24.0", "sm_90") if each.status == "pass"
        }
        assert now <= whole, name
