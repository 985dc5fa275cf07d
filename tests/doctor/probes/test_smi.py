"""nvidia-smi in the place of an NVML that cannot be loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.doctor.probes.fakes import program

from dsv4_doctor.probes import driver, gpu, smi
from dsv4_doctor.probes.registry import Request

if TYPE_CHECKING:
    from pathlib import Path

LOG = """<?xml version="1.0" ?>
<nvidia_smi_log>
<driver_version>580.159.04</driver_version>
<cuda_version>13.0</cuda_version>
<attached_gpus>1</attached_gpus>
<gpu id="00000000:17:00.0">
<product_name>NVIDIA H200</product_name>
<fb_memory_usage><total>143771 MiB</total></fb_memory_usage>
<bar1_memory_usage><total>262144 MiB</total></bar1_memory_usage>
</gpu>
</nvidia_smi_log>
"""


def use(monkeypatch: pytest.MonkeyPatch, directory: Path, output: str, *, status: int = 0) -> None:
    body = f"cat <<'END'\n{output}END\nexit {status}"
    place = program(directory / "nvidia-smi", body)
    monkeypatch.setattr(smi, "PROGRAMS", ("/no/such/nvidia-smi", str(place)))


def test_gpus_and_versions(tmp_path: Path, no_nvml: None, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, tmp_path, LOG)
    (found,) = gpu.probe(Request())
    assert (found.name, found.pci) == ("NVIDIA H200", "0000:17:00.0")
    assert (found.compute_capability, found.memory) == ("9.0", 143771 << 20)
    assert found.bar1 == 262144 << 20
    told = driver.survey(tmp_path)
    assert (told.nvml, told.cuda) == ("580.159.04", "13.0")
    assert "libnvidia-ml" in (told.nvml_error or "")


@pytest.mark.parametrize(
    ("output", "status"), [("no devices\n", 0), (LOG, 9), ("<nvidia_smi_log><gpu>\n", 0)]
)
def test_what_it_cannot_say(
    tmp_path: Path,
    no_nvml: None,
    monkeypatch: pytest.MonkeyPatch,
    output: str,
    status: int,
) -> None:
    use(monkeypatch, tmp_path, output, status=status)
    assert all(each.memory is None for each in gpu.probe(Request()))
    assert driver.survey(tmp_path).nvml is None


def test_without_it(tmp_path: Path, no_nvml: None) -> None:
    assert gpu.probe(Request()) == ()
    assert driver.survey(tmp_path).nvml is None
