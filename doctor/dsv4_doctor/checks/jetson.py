"""Jetson: an integrated GPU, and packages from an index of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.report import Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator


@check(
    "host.jetson.wheels",
    "Jetson",
    reads=("host",),
    reports=("vllm-project/vllm#5640",),
    fix="Take torch and vLLM from NVIDIA's index for Jetson, or its container.",
)
def jetson(context: Context) -> Iterator[Finding]:
    """Whether this is a Jetson, where torch and vLLM come from another index than PyPI.

    PyPI's torch for aarch64 is built for servers: it does not see the integrated GPU of Orin, and
    NVML tells neither memory nor topology there.
    """
    host = context.snapshot.host
    if host is None or host.tegra is None:
        return
    release = f"Linux for Tegra {host.tegra}" if host.tegra else "Linux for Tegra"
    yield Finding(
        "host.jetson.wheels",
        "warn",
        f"this is a Jetson ({release}): torch and vLLM come from NVIDIA's index, not from PyPI",
        found=f"{release}, kernel {host.kernel}",
        expected="torch and vLLM built for this JetPack",
        evidence=(Evidence(host.kernel, "uname -r"), Evidence(release, "/etc/nv_tegra_release")),
        remedy=Remedy(
            "take the wheels of the index for this JetPack (https://pypi.jetson-ai-lab.io) or"
            " NVIDIA's container for vLLM"
        ),
    )
