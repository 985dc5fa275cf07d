"""How bad a finding is."""

from __future__ import annotations

import pytest

from dsv4_doctor.checks.severity import missing_for_serving
from dsv4_doctor.target import Purpose, Target


@pytest.mark.parametrize(
    ("purpose", "status"), [("build", "skip"), ("serve", "fail"), ("all", "warn")]
)
def test_what_only_a_server_needs(purpose: Purpose, status: str) -> None:
    assert missing_for_serving(Target("0.24.0", purpose=purpose)) == status
