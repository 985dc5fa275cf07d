"""What identifies is gone, everywhere, and what a check decides by is as it was."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.doctor.ingest import texts
from tests.doctor.machines import PREFIX, bare, failed, healthy, python_environment

from dsv4_doctor.checks.registry import Context, run_checks
from dsv4_doctor.codec import dump_snapshot, parse_snapshot
from dsv4_doctor.evaluation import evaluate
from dsv4_doctor.facts.python import Distribution
from dsv4_doctor.ingest.load import parse
from dsv4_doctor.knowledge import load
from dsv4_doctor.redact import Redactor, redact
from dsv4_doctor.report import Report
from dsv4_doctor.snapshot import Snapshot
from dsv4_doctor.target import PURPOSES, Purpose, Target

HOST = "dgx-07.rack3.corp.internal"
USER = "alice.weber"
SECRETS = [
    HOST,
    "dgx-07",
    USER,
    "10.17.3.41",
    "172.20.0.9",
    "8.8.4.4",
    "fd12:3456:789a::17",
    "2a02:8106:1:2:3:4:5:6",
    "3c:ec:ef:5a:01:9b",
    "3C-EC-EF-5A-01-9B",
    "9c63:c003:00ab:12cd",
    "GPU-4404041a-04cf-1ccf-9e70-f139a9b1e23c",
    "4404041a-04cf-1ccf-9e70-f139a9b1e23c",
    "alice.weber@corp.internal",
    "hf_AbCdEfGhIjKlMnOpQrStUvWx",
    "ghp_0123456789abcdefghijABCDEFGHIJ",
    "sk-proj-0123456789abcdefghij",
    "nvapi-0123456789abcdefghij-XYZ",
    "AKIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4",
]


def planted() -> Snapshot:
    """Return the healthy machine with something that identifies in every place."""
    machine = healthy()
    assert machine.host is not None
    assert machine.toolkits is not None
    home = f"/home/{USER}"
    python = python_environment(
        executable=f"{home}/.venv/bin/python",
        prefix=f"{home}/.venv",
        distributions=(
            Distribution("torch", "2.11.0", f"{home}/.venv/lib/python3.12/site-packages"),
            Distribution("triton", "3.6.0", f"{home}/.venv/lib/python3.12/site-packages"),
            Distribution("nvidia-curand", "10.4.0.35", f"{home}/.venv/lib"),
            Distribution("nvidia-cublas", "13.1.0.3", f"{home}/.venv/lib"),
        ),
    )
    environment = {
        **(machine.environment or {}),
        "LD_LIBRARY_PATH": f"/scratch/{USER}/lib:{home}/lib:/usr/lib",
        "VLLM_HOST_IP": "10.17.3.41",
        "NCCL_SOCKET_IFNAME": "3c:ec:ef:5a:01:9b",
        "NVIDIA_VISIBLE_DEVICES": "GPU-4404041a-04cf-1ccf-9e70-f139a9b1e23c",
        "VLLM_PROXY": f"http://{USER}:hunter2secret@proxy.corp.internal:3128/",
        "no_proxy": "localhost,.corp.internal,10.17.3.41,github.com",
        "https_proxy": "proxy.corp.internal:3128",
        "VLLM_ARGS": f"--api-key hunter2 --token=hunter2secret --max-tokens=8192 {HOST}",
    }
    snapshot = replace(
        machine,
        host=replace(machine.host, hostname=HOST),
        python=python,
        environment=environment,
        origin=(f"facts are from {home}/report.txt",),
    )
    every = " ".join(SECRETS)
    return failed(snapshot, "build_tools", f"OSError on {HOST}: {every} password=hunter2secret")


def judge(snapshot: Snapshot, purpose: Purpose) -> list[tuple[str, str]]:
    target = Target("0.24.0", ("sm_90",), ("deepseek-v4", "fa3"), purpose, "article")
    findings = run_checks(Context(snapshot, target, load.release("0.24.0")))
    return [(each.id, each.status) for each in findings]


def survivors(text: str) -> list[str]:
    return [secret for secret in [*SECRETS, "hunter2secret", "corp.internal"] if secret in text]


def test_nothing_that_was_planted_survives() -> None:
    assert survivors(dump_snapshot(planted())) != []
    assert survivors(dump_snapshot(redact(planted()))) == []


@pytest.mark.parametrize("purpose", PURPOSES)
def test_a_report_is_free_of_it_too(purpose: Purpose) -> None:
    redactor = Redactor()
    release = load.release("0.24.0")
    target = Target("0.24.0", purpose=purpose)
    notes = (f"read from /home/{USER}/vllm on {HOST}",)
    report = redactor.redact(evaluate(redactor.redact(planted()), target, release, notes))
    assert isinstance(report, Report)
    assert survivors(json.dumps(report.to_json())) == []
    assert report.hostname == "host-1"
    assert report.notes[-1] == "read from /home/user-1/vllm on host-1"


@pytest.mark.parametrize("purpose", PURPOSES)
@pytest.mark.parametrize(
    "make",
    [
        planted,
        healthy,
        bare,
        lambda: parse(texts.by_vllm().encode(), "x"),
        lambda: parse(texts.smi_q().encode(), "x"),
    ],
)
def test_the_redacted_snapshot_loads_and_is_judged_the_same(
    make: Callable[[], Snapshot], purpose: Purpose
) -> None:
    snapshot = make()
    stored = parse_snapshot(dump_snapshot(redact(snapshot)), "x")
    assert judge(stored, purpose) == judge(snapshot, purpose)


def test_redacting_again_changes_nothing() -> None:
    once = redact(planted())
    assert redact(once) == once


def test_the_same_gets_the_same() -> None:
    found = redact(planted())
    assert found.python is not None
    assert found.python.prefix == "/home/user-1/.venv"
    assert found.environment is not None
    assert found.environment["LD_LIBRARY_PATH"] == "/scratch/user-1/lib:/home/user-1/lib:/usr/lib"
    assert "--max-tokens=8192" in found.environment["VLLM_ARGS"]
    assert found.environment["VLLM_PROXY"].endswith(":3128/")
    assert found.environment["https_proxy"] == found.environment["VLLM_PROXY"][7:-1]
    assert found.environment["no_proxy"].startswith("localhost,host-")
    assert found.environment["no_proxy"].endswith(",github.com")
    assert found.origin == ("facts are from /home/user-1/report.txt",)


def test_what_does_not_identify_stays() -> None:
    clean = replace(healthy(), host=None)
    assert redact(clean) == clean
    assert [each.version for each in redact(planted()).python.distributions] == [  # type: ignore[union-attr]
        "2.11.0", "3.6.0", "10.4.0.35", "13.1.0.3",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "nvidia-cublas==13.1.0.3",
        "nvidia_curand-10.4.0.35-py3-none-manylinux_2_27_x86_64.whl",
        "0000:17:00.0",
        "12:30:45",
        "2026-11-29T12:00:00+00:00",
        "sm_90a; PTX compute_90",
        "127.0.0.1:8000 and 0.0.0.0 and [::1]",
        "std::vector<c10::Half>",
        "https://docs.nvidia.com/deploy/cuda-compatibility/",
        "vllm-project/vllm#51513",
        "max_num_batched_tokens=8192",
        "/home/ubuntu/vllm and /root/.cache",
        "torch 2.11.0+cu130",
        "_ZN5flash24flash_fwd_splitkv_kernel",
        "VBIOS 96.00.A5.00.01, 95.02.66.00",
    ],
)
def test_text_that_only_looks_like_it_stays(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("VLLM_HOST_IP=10.1.2.3", "VLLM_HOST_IP=192.0.2.1"),
        ("tcp://10.1.2.3:29500, 10.1.2.3", "tcp://192.0.2.1:29500, 192.0.2.1"),
        ("git clone https://me:pw@git.corp/x", "git clone https://host-1/x"),
        ("Serial Number : 1650525043210", "Serial Number : serial-1"),
        ("Serial Number : N/A", "Serial Number : N/A"),
        ("HF_TOKEN=abc", "HF_TOKEN=<secret>"),
        ('"api_key": "abcdef"', '"api_key": "<secret>"'),
        ("Authorization: Bearer abcdefgh123", "Authorization: Bearer <secret>"),
        ("C:\\Users\\jo\\x, /home/jo/x", "C:\\Users\\user-1\\x, /home/user-1/x"),
        ("/home/bob/a bob@corp.example-x.com", "/home/user-1/a mail-1@example.com"),
    ],
)
def test_free_text(text: str, redacted: str) -> None:
    assert redact(text) == redacted


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("--api-key abc123 --port 1", "--api-key <secret> --port 1"),
        ("Authorization: Basic YWxpY2U6cHc= x", "Authorization: Basic <secret> x"),
        ("pypi-AgEIcHlwaS5vcmcCJDU", "<secret>"),
        ("node7.prod.internal died", "host-1 died"),
        ("alice on node7, not node77", "user-1 on host-1, not node77"),
    ],
)
def test_text_of_a_log(text: str, expected: str) -> None:
    known = Redactor(users=("alice",), hosts=("node7",)) if "alice" in text else Redactor()
    assert known.redact(text) == expected


def test_a_name_that_is_a_package_too_only_goes_from_its_home() -> None:
    snapshot = healthy(python=python_environment(prefix="/home/setuptools/venv"))
    data = {"a": "/home/setuptools/venv", "name": "setuptools"}
    assert redact(data) == {"a": "/home/user-1/venv", "name": "setuptools"}
    assert redact(snapshot).python is not None


names = st.from_regex(r"[a-z][a-z0-9]{4,12}", fullmatch=True).filter(
    lambda name: name not in dump_snapshot(planted()) and not name.startswith(("user", "host"))
)


@settings(deadline=None)
@given(names, names, st.ip_addresses(v=4), st.uuids(), st.sampled_from(["", "\n", " / ", "; "]))
def test_whatever_the_names_are(
    host: str, user: str, address: object, uuid: object, by: str
) -> None:
    if host in user or user in host:
        return
    machine = healthy()
    assert machine.host is not None
    text = by.join(f" {each} " for each in (host, f"/home/{user}/x", address, uuid, user))
    snapshot = replace(
        machine,
        host=replace(machine.host, hostname=f"{host}.example.net"),
        environment={"PATH": f"/home/{user}/bin:{PREFIX}/bin", "VLLM_X": text},
    )
    found = redact(snapshot)
    written = dump_snapshot(found)
    assert host not in written
    assert user not in written
    assert str(uuid) not in written or str(uuid).startswith("00000000-0000-0000-0000-")
    for purpose in PURPOSES:
        assert judge(found, purpose) == judge(snapshot, purpose)
