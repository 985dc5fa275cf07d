"""Several documents in one paste: which of them are about one machine."""

from __future__ import annotations

import pytest
from tests.doctor.ingest import texts

from dsv4_doctor.errors import UsageError
from dsv4_doctor.ingest.load import parse
from dsv4_doctor.snapshot import Snapshot

MIB = 1 << 20
ROCM = texts.by_torch(
    torch={
        "PyTorch version": "2.6.0",
        "CUDA used to build PyTorch": "N/A",
        "ROCM used to build PyTorch": "6.2.41133",
    },
    cuda={
        "Is CUDA available": "True",
        "GPU models and configuration": "AMD Instinct MI300X (gfx942:sramecc+:xnack-)",
        "Nvidia driver version": "Could not collect",
    },
)
OTHER = texts.by_vllm(vllm="0.30.0").replace("580.65.06", "595.71.05").replace("H200", "B200")


def read(text: str, block: int | None = None) -> Snapshot:
    return parse(text.encode(), "paste.txt", block)


def test_documents_of_one_machine_add_up() -> None:
    found = read(texts.smi_table() + "\n" + texts.by_vllm() + "\n```\n" + texts.smi_q())
    assert len(found.origin) == 1
    for kind in ("nvidia-smi table", "collect_env text of vLLM", "nvidia-smi -q"):
        assert kind in found.origin[0]
    assert {gpu.bar1 for gpu in found.gpus or ()} == {262144 * MIB}
    assert found.python is not None
    assert found.driver is not None
    assert found.driver.cuda == "13.0"


@pytest.mark.parametrize("smi", [texts.smi_q, texts.smi_xml, texts.smi_table])
@pytest.mark.parametrize("first", [True, False])
def test_another_driver_is_another_machine(smi: object, first: bool) -> None:
    assert callable(smi)
    other = smi(driver="550.90.07")
    pasted = [texts.by_torch(), other] if first else [other, texts.by_torch()]
    found = read("\n".join(pasted), block=1 if first else 2)
    assert "holds 2 machines" in found.origin[1]
    assert found.driver is not None
    assert found.driver.nvml == "580.65.06"


def test_other_gpus_are_another_machine() -> None:
    for names in (["NVIDIA H200"], ["NVIDIA H100 80GB HBM3"] * 2):
        assert "holds 2 machines" in read(texts.smi_q() + texts.smi_table(names)).origin[1]


@pytest.mark.parametrize("blank", ["", "\n\n", "\n```\n\nand on the other one:\n\n```\n"])
def test_a_second_text_of_collect_env_is_another_machine(blank: str) -> None:
    pasted = f"{texts.by_old_vllm()}{blank}{ROCM}{blank}{OTHER}"
    first, second, third = (read(pasted, block) for block in (1, 2, 3))
    assert first.foreign == ""
    assert [gpu.name for gpu in first.gpus or ()] == ["NVIDIA H200"] * 2
    assert first.environment is not None
    assert "ROCm" in second.foreign
    assert [gpu.name for gpu in third.gpus or ()] == ["NVIDIA B200"] * 2
    assert third.driver is not None
    assert third.driver.nvml == "595.71.05"
    assert third.host == first.host
    assert read(pasted).origin == first.origin
    assert "--block 2 is collect_env text of PyTorch" in first.origin[1]


def test_the_first_machine_that_is_a_target_is_taken() -> None:
    found = read(ROCM + texts.by_vllm())
    assert found.foreign == ""
    assert "this is 2" in found.origin[1]
    assert "ROCm" in read(ROCM).foreign


@pytest.mark.parametrize("block", [0, 3, -1])
def test_a_machine_that_is_not_there(block: int) -> None:
    with pytest.raises(UsageError, match="there are 2 machines"):
        read(ROCM + texts.by_vllm(), block)


def test_the_same_text_twice_is_named_twice() -> None:
    assert "holds 2 machines" in read(texts.by_vllm() * 2).origin[1]
    assert len(read(texts.smi_q() * 2).origin) == 1
