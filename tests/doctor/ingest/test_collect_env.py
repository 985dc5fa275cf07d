"""The text of collect_env, in its layouts and as people paste it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.doctor.ingest import texts

from dsv4_doctor.ingest.load import parse
from dsv4_doctor.probes.environment import HIDDEN
from dsv4_doctor.snapshot import Snapshot


def read(text: str) -> Snapshot:
    return parse(text.encode(), "paste.txt")


def told(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot without where its facts are from."""
    return Snapshot(**{**vars(snapshot), "origin": (), "probes": ()})


@pytest.mark.parametrize("text", texts.LAYOUTS.values(), ids=texts.LAYOUTS)
def test_every_layout_tells_the_same(text: str) -> None:
    found = read(text)
    assert found.driver is not None
    assert found.driver.nvml == "580.65.06"
    assert [gpu.name for gpu in found.gpus or ()] == ["NVIDIA H200", "NVIDIA H200"]
    assert {gpu.compute_capability for gpu in found.gpus or ()} == {"9.0"}
    assert found.host is not None
    assert (found.host.distribution, found.host.distribution_version) == ("ubuntu", "24.04.1")
    assert (found.host.machine, found.host.glibc, found.host.cpus) == ("x86_64", "2.39", 64)
    assert found.host.kernel == "6.8.0-1-generic"
    assert found.toolkits is not None
    assert [each.nvcc_version for each in found.toolkits.found] == ["13.0.88"]
    assert found.compilers is not None
    assert found.compilers.used is not None
    assert found.compilers.used.version == "13.3.0"
    assert [(each.name, each.version) for each in found.build_tools or ()] == [("cmake", "4.1.0")]
    assert found.python is not None
    assert found.python.version == "3.12.3"
    assert found.python.torch is not None
    assert (found.python.torch.version, found.python.torch.cuda) == ("2.11.0+cu130", "13.0")
    assert found.python.torch.hip is None
    triton = found.python.distribution("triton")
    assert triton is not None
    assert triton.version == "3.6.0"


def test_vllm_and_its_variables_are_told_by_its_own_text_only() -> None:
    plain, old, new = (read(text) for text in texts.LAYOUTS.values())
    assert plain.python is not None
    assert plain.python.distribution("vllm") is None
    assert plain.environment == {}
    assert plain.probe("environment") is not None
    for snapshot, version in ((old, "0.8.5.post1"), (new, "0.24.0")):
        assert snapshot.python is not None
        vllm = snapshot.python.distribution("vllm")
        assert vllm is not None
        assert vllm.version == version
        assert snapshot.environment == {
            "CUDA_HOME": "/usr/local/cuda",
            "LD_LIBRARY_PATH": "/usr/local/cuda/lib64",
            "NCCL_DEBUG": "INFO",
            "VLLM_API_KEY": HIDDEN,
        }


def indented(text: str) -> str:
    return "\n".join("       " + line for line in text.splitlines())


def quoted(text: str) -> str:
    return "\n".join("> " + line for line in text.splitlines())


def fenced(text: str) -> str:
    return f"### Your current environment\n\n```text\n{text}\n```\n\n### Model\n\nsome model: 4\n"


def in_json(text: str) -> str:
    return json.dumps({"results": {"x": 0.5}, "pretty_env_info": text, "date": 1})


def cut_out_of_json(text: str) -> str:
    return f'  "pretty_env_info": {json.dumps(text)},\n  "date": 1\n'


def with_log_lines(text: str) -> str:
    noise = "INFO 11-01 12:00:00 [__init__.py:239] Automatically detected platform cuda."
    warning = "/opt/x.py:3: FutureWarning: OS and more: the package pynvml is deprecated"
    head, middle, rest = text.partition("CUDA runtime version")
    return f"{noise}\n{warning}\n{head}{noise}\n{middle}{rest}{noise}\n"


@pytest.mark.parametrize(
    "paste",
    [
        indented,
        quoted,
        fenced,
        in_json,
        cut_out_of_json,
        with_log_lines,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\x1b[1m" + text.replace("GPU 0", "\x1b[32mGPU 0\x1b[0m"),
        lambda text: text.replace(" ", "\xa0"),
        lambda text: text.replace("CPU:\n", "CPU:\0\n"),
        lambda text: text.replace("Is debug build", "<br>\nIs debug build"),
        lambda text: text.replace("False\n", "False<br/>\n"),
        lambda text: (
            f"<details>\n<summary>The output of `collect_env.py`</summary>\n{text}</details>"
        ),
    ],
)
@pytest.mark.parametrize("text", texts.LAYOUTS.values(), ids=texts.LAYOUTS)
def test_how_it_was_pasted_changes_nothing(text: str, paste: object) -> None:
    assert callable(paste)
    assert told(read(paste(text))) == told(read(text))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_encodings_of_windows(encoding: str) -> None:
    text = texts.by_vllm().replace("Some CPU", "Käse CPU")
    assert told(parse(text.encode(encoding), "x")) == told(read(text))


def test_bytes_of_another_encoding_do_no_harm() -> None:
    text = texts.by_torch(cpu=texts.CPU_IN_GERMAN + "\nHinweis:  für Käse")
    assert told(parse(text.encode("latin-1"), "x")) == told(read(text))


def test_localised_lscpu() -> None:
    assert told(read(texts.by_torch(cpu=texts.CPU_IN_GERMAN))) == told(read(texts.by_torch()))


def test_torch_1_9_knows_no_cpu() -> None:
    text = texts.by_torch(
        torch={"PyTorch version": "1.9.0", "CUDA used to build PyTorch": "10.2"},
        python={"Python version": "3.8 (64-bit runtime)"},
        cuda={key: value for key, value in texts.CUDA.items() if "XNN" not in key},
        cpu="",
    )
    found = read(text)
    assert found.python is not None
    assert found.python.version == "3.8"
    assert found.python.torch is not None
    assert found.python.torch.cuda == "10.2"
    assert len(found.gpus or ()) == 2


def test_one_gpu_stands_in_the_line_of_its_key() -> None:
    for name in ("NVIDIA GB10", "Tesla V100-SXM2-16GB"):
        cuda = {**texts.CUDA, "GPU models and configuration": f"GPU 0: {name}"}
        for text in (texts.by_torch(cuda=cuda), texts.by_vllm(cuda=cuda)):
            assert [gpu.name for gpu in read(text).gpus or ()] == [name]


def test_mig_instances_are_listed_under_their_gpu() -> None:
    listed = "\nGPU 0: NVIDIA H100 80GB HBM3\n  MIG 1g.10gb     Device  0: \nGPU 1: NVIDIA H200\n"
    found = read(texts.by_torch(cuda={**texts.CUDA, "GPU models and configuration": listed}))
    assert [gpu.mig for gpu in found.gpus or ()] == [True, None]


NOT_COLLECTED = {
    **texts.CUDA,
    "Is CUDA available": "False",
    "GPU models and configuration": "Could not collect",
    "Nvidia driver version": "Could not collect",
}


def test_torch_for_cuda_that_sees_no_gpu_has_none() -> None:
    found = read(texts.by_torch(cuda=NOT_COLLECTED))
    assert found.gpus == ()
    assert found.driver is None


@pytest.mark.parametrize(
    "change",
    [
        {"Is CUDA available": "True"},  # WSL: no nvidia-smi, and CUDA works
        {"Is CUDA available": "N/A"},
    ],
)
def test_a_gpu_that_was_not_collected_is_not_absent(change: dict[str, str]) -> None:
    assert read(texts.by_torch(cuda={**NOT_COLLECTED, **change})).gpus is None


def test_a_gap_in_the_list_of_gpus_is_noticed() -> None:
    text = texts.by_torch().replace("GPU 0: NVIDIA H200\n", "")
    run = read(text).probe("gpus")
    assert run is not None
    assert "gap" in (run.error or "")


@pytest.mark.parametrize(
    ("torch", "foreign"),
    [
        ({"CUDA used to build PyTorch": "N/A", "ROCM used to build PyTorch": "6.2.1-x"}, "ROCm"),
        ({"CUDA used to build PyTorch": "13.0", "ROCM used to build PyTorch": "N/A"}, ""),
        ({"CUDA used to build PyTorch": "None", "ROCM used to build PyTorch": "N/A"}, ""),
    ],
)
def test_rocm_is_another_kind_of_machine(torch: dict[str, str], foreign: str) -> None:
    found = read(texts.by_torch(torch={**texts.TORCH, **torch})).foreign
    assert foreign in found
    assert bool(found) == bool(foreign)


@pytest.mark.parametrize(
    ("system", "platform", "foreign"),
    [
        ("macOS 15.1.1 (arm64)", "macOS-15.1.1-arm64-arm-64bit", "macOS"),
        ("Microsoft Windows 11 Pro (10.0.26100 64-bit)", "Windows-10-10.0.26100-SP0", "Windows"),
        ("Ubuntu 24.04 LTS (x86_64)", "Linux-5.15.1-microsoft-standard-WSL2-x86_64-with-x", ""),
    ],
)
def test_systems_that_are_no_target(system: str, platform: str, foreign: str) -> None:
    python = {**texts.PYTHON, "Python platform": platform}
    text = texts.by_torch(system={**texts.SYSTEM, "OS": system}, python=python)
    assert read(text).foreign == foreign


@pytest.mark.parametrize(
    ("written", "version"),
    [
        ("(Ubuntu 11.4.0-1ubuntu1~22.04.3) 11.4.0", "11.4.0"),
        ("(GCC) 11.4.1 20231218 (Red Hat 11.4.1-3)", "11.4.1"),
        ("(conda-forge gcc 11.2.0-16) 11.2.0", "11.2.0"),
        ("(Debian 12.2.0-14) 12.2.0", "12.2.0"),
        ("Could not collect", None),
        ("(SUSE Linux) 7.5.0", "7.5.0"),
    ],
)
def test_versions_of_gcc(written: str, version: str | None) -> None:
    found = read(texts.by_torch(system={**texts.SYSTEM, "GCC version": written})).compilers
    assert (found.used.version if found is not None and found.used is not None else None) == version


def test_a_variable_that_names_another_compiler_leaves_it_open() -> None:
    found = read(texts.by_vllm(variables="CUDAHOSTCXX=/usr/bin/g++-12"))
    run = found.probe("compilers.used")
    assert found.compilers is not None
    assert found.compilers.used is None
    assert run is not None


def test_another_toolkit_in_cuda_home_leaves_the_toolkit_open() -> None:
    found = read(texts.by_vllm(variables="CUDA_HOME=/usr/local/cuda-12.8"))
    assert found.toolkits is None
    assert "12.8" in str(found.probe("toolkits"))
    assert read(texts.by_vllm(variables="CUDA_HOME=/usr/local/cuda-13.0")).toolkits is not None


def test_the_tag_of_torch_names_its_cuda() -> None:
    torch = {"PyTorch version": "2.7.0+cu128"}
    found = read(texts.by_torch(torch=torch)).python
    assert found is not None
    assert found.torch is not None
    assert found.torch.cuda == "12.8"


def test_torch_that_could_not_be_imported_is_not_absent() -> None:
    found = read(texts.by_torch(torch={**texts.TORCH, "PyTorch version": "N/A"}))
    assert found.python is not None
    assert found.python.torch is None
    assert found.probe("python.torch") is not None


@settings(deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=300))
def test_values_may_be_anything(value: str) -> None:
    line = value.replace("\n", " ").replace("\r", " ")
    for key in [*texts.TORCH, *texts.SYSTEM, *texts.PYTHON, *texts.CUDA]:
        read(f"PyTorch version: 2.11.0\nNvidia driver version: 580.65.06\n{key}: {line}\n")


def test_lost_line_breaks() -> None:
    text = " ".join(texts.by_torch(cpu="").split("\n"))
    found, whole = read(text), read(texts.by_torch(cpu=""))
    assert found.gpus == whole.gpus
    assert found.driver == whole.driver
    assert found.toolkits == whole.toolkits
    assert found.compilers == whole.compilers
    assert found.python == whole.python
