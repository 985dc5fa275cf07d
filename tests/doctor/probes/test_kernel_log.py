"""GPU errors in the kernel's log."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dsv4_doctor.facts.driver import Xid
from dsv4_doctor.knowledge.cuda_errors import log_complaints
from dsv4_doctor.probes import kernel_log

LOG = """\
<6>[    0.76] NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.159.04
<4>[  912.1] NVRM: Xid (PCI:0000:17:00): 48, pid='<unknown>', name=<unknown>, DBE
<4>[  912.2] NVRM: Xid (PCI:0000:17:00): 63, pid=1, Row Remapper: New row marked for remapping
<4>[  999.2] NVRM: Xid (PCI:0000:17:00): 63, pid=1, Row Remapper: New row marked for remapping
<4>[ 1000.0] NVRM: Xid (PCI:0000:C1:00 GPU-I:01): 31, pid=2, MMU Fault
"""


def test_errors_by_gpu_and_number() -> None:
    assert kernel_log.parse_xids(LOG) == (
        Xid("0000:17:00", 48),
        Xid("0000:17:00", 63, 2),
        Xid("0000:c1:00", 31),
    )


def test_a_log_without_errors() -> None:
    assert kernel_log.parse_xids("NVRM: loading NVIDIA UNIX Open Kernel Module") == ()


def test_complaints_of_the_driver() -> None:
    log = (
        "[ 3.1] NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:2b85)\n"
        "[ 3.1] NVRM: installed in this system requires use of the NVIDIA open kernel modules.\n"
        "[ 3.2] NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x22:0x56:884)\n"
        "[ 3.3] NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x22:0x56:884)\n"
    )
    assert kernel_log.parse_messages(log) == (
        "requires use of the NVIDIA open kernel modules",
        "RmInitAdapter failed",
    )
    assert kernel_log.parse_messages("other: RmInitAdapter failed") == ()


def test_every_complaint_is_explained() -> None:
    assert {each.says for each in log_complaints()} == set(kernel_log.MESSAGES)


@given(st.text())
def test_any_text(text: str) -> None:
    kernel_log.parse_xids(text)
    kernel_log.parse_messages(text)


def test_reading_is_a_text_or_a_refusal() -> None:
    assert isinstance(kernel_log.read(), str | None)
