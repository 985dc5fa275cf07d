"""Checks of torch, triton, vLLM, FlashAttention, features and profiles."""

from __future__ import annotations

import pytest
from tests.doctor.checks.test_toolkit import findings, with_toolkit
from tests.doctor.machines import SITE, healthy, python_environment, toolkit

from dsv4_doctor.checks.registry import Context, run_checks
from dsv4_doctor.facts.build_tools import BuildTool
from dsv4_doctor.facts.python import DeviceCode, Distribution, TorchBuild
from dsv4_doctor.knowledge import load
from dsv4_doctor.snapshot import Snapshot
from dsv4_doctor.target import Purpose, Target

TORCH = Distribution("torch", "2.11.0", SITE)
TRITON = Distribution("triton", "3.6.0", SITE)
VLLM = Distribution("vllm", "0.24.0", SITE)


def torch(version: str, cuda: str | None) -> TorchBuild:
    return TorchBuild(version, cuda, None, f"{SITE}/torch/version.py")


def with_torch(version: str, cuda: str | None, *others: Distribution) -> Snapshot:
    return healthy(
        python=python_environment(
            torch=torch(version, cuda), distributions=(TORCH, TRITON, *others)
        )
    )


@pytest.mark.parametrize("purpose", ["build", "serve", "all"])
def test_a_cpu_only_torch_fails(purpose: Purpose) -> None:
    finding = findings(with_torch("2.11.0+cpu", None), purpose=purpose)["torch.build.present"]
    assert finding.status == "fail"
    assert "CPU only" in finding.title


def test_another_torch_is_a_warning_for_a_build_as_in_upstreams_cmake() -> None:
    finding = findings(with_torch("2.10.0+cu130", "13.0"))["torch.build.pin"]
    assert finding.status == "warn"
    assert finding.expected == "torch 2.11.0"
    assert finding.source[0].line


def test_another_torch_under_an_installed_vllm_fails_for_serving() -> None:
    made = findings(with_torch("2.10.0+cu130", "13.0", VLLM), purpose="serve")
    assert made["torch.build.pin"].status == "fail"


@pytest.mark.parametrize(("cuda", "status"), [("12.8", "fail"), ("13.0", "pass"), ("13.2", "pass")])
def test_torch_and_toolkit_share_the_cuda_major(cuda: str, status: str) -> None:
    assert findings(with_torch("2.11.0", cuda))["torch.build.toolkit"].status == status


def test_triton_of_another_torch_is_named() -> None:
    python = python_environment(distributions=(TORCH, Distribution("triton", "3.5.1", SITE)))
    finding = findings(healthy(python=python))["triton.build.pin"]
    assert finding.status == "warn"
    assert "3.5.1" in finding.title
    assert "3.6.0" in finding.title


def test_a_python_outside_the_release_fails() -> None:
    machine = healthy(python=python_environment(version="3.10.12"))
    assert findings(machine)["python.version.release"].status == "pass"
    assert findings(machine, release="0.33.0")["python.version.release"].status == "fail"


def vllm_with(*binaries: DeviceCode) -> Snapshot:
    return healthy(
        python=python_environment(distributions=(TORCH, TRITON, VLLM), binaries=binaries)
    )


def code(name: str, *sass: str, **more: tuple[str, ...] | str) -> DeviceCode:
    return DeviceCode(f"{SITE}/vllm/{name}", "vllm", sass, **{"ptx": (), **more})  # type: ignore[arg-type]


FA3 = "vllm_flash_attn/_vllm_fa3_C.abi3.so"


@pytest.mark.parametrize(
    ("binaries", "status"),
    [
        ((code(FA3, "sm_90a", families=("fa3",)),), "pass"),
        ((code(FA3, "sm_90a"),), "pass"),
        ((code(FA3, "sm_90a", families=("fa2",)),), "fail"),
        ((code(FA3, "sm_80"),), "fail"),
        ((code(FA3),), "fail"),
        ((), "fail"),
        ((code(FA3, error="truncated at byte 7"),), "unknown"),
    ],
)
def test_fa3_is_believed_only_with_its_machine_code(
    binaries: tuple[DeviceCode, ...], status: str
) -> None:
    assert findings(vllm_with(*binaries))["flash_attn.fa3.kernels"].status == status


def test_fa3_is_not_asked_of_a_gpu_that_cannot_run_it() -> None:
    made = findings(vllm_with(code(FA3)), archs=("sm_100",))
    assert "flash_attn.fa3.kernels" not in made


def test_neither_flash_attn_package_is_needed() -> None:
    made = findings(healthy(), purpose="serve")
    assert made["flash_attn.package.build"].status == "skip"
    assert made["flash_attn.fa3.package"].status == "skip"


def test_a_separate_fa3_package_without_hopper_code_is_a_warning() -> None:
    python = python_environment(
        distributions=(TORCH, TRITON, Distribution("flash-attn-3", "3.0.0", SITE)),
        binaries=(DeviceCode(f"{SITE}/flash_attn_3/_C.abi3.so", "flash-attn-3", ("sm_80",), ()),),
    )
    assert findings(healthy(python=python))["flash_attn.fa3.package"].status == "warn"


@pytest.mark.parametrize(
    ("binary", "archs", "status"),
    [
        (code("_C_stable_libtorch.abi3.so", "sm_80", "sm_90"), ("sm_90",), "pass"),
        (code("_C_stable_libtorch.abi3.so", "sm_80"), ("sm_89",), "pass"),
        (code("_C_stable_libtorch.abi3.so", "sm_80"), ("sm_90",), "fail"),
        (code("_C_stable_libtorch.abi3.so", "sm_90a"), ("sm_100",), "fail"),
        (code("_C.abi3.so", "sm_80", ptx=("compute_80",)), ("sm_90",), "pass"),
        (code("_flashmla_C.abi3.so", "sm_90a"), ("sm_120",), None),
        (code("cumem_allocator.abi3.so"), ("sm_90",), None),
        (code("third_party/deep_gemm/_C.cpython-312-x86_64-linux-gnu.so"), ("sm_90",), None),
        (code("vllm_flash_attn/_vllm_fa2_C.abi3.so", "sm_80"), ("sm_90",), "fail"),
        (code("vllm_flash_attn/vllm_flash_attn_c.abi3.so", "sm_80"), ("sm_90",), "fail"),
        (code("_C.abi3.so", error="truncated"), ("sm_90",), "unknown"),
    ],
)
def test_installed_binaries_run_on_the_gpu(
    binary: DeviceCode, archs: tuple[str, ...], status: str | None
) -> None:
    made = findings(vllm_with(binary), archs=archs, purpose="serve")
    finding = made.get("arch.installed.runs")
    assert (finding.status if finding else None) == status


@pytest.mark.parametrize("name", ["cmake", "ninja", "git"])
def test_a_missing_build_tool_is_a_warning(name: str) -> None:
    tools = tuple(
        BuildTool(tool.name, None, None) if tool.name == name else tool
        for tool in healthy().build_tools or ()
    )
    made = findings(healthy(build_tools=tools))
    assert made[f"build.tools.{name}"].status == "warn"


def test_an_old_cmake_fails() -> None:
    tools = (BuildTool("cmake", "/usr/bin/cmake", "3.25.1"),)
    finding = findings(healthy(build_tools=tools))["build.tools.cmake"]
    assert finding.status == "fail"
    assert finding.source[0].line


def test_a_feature_that_the_release_lost_says_where_it_went() -> None:
    finding = findings(healthy(), release="0.33.0", features=("paged-v2",))[
        "feature.paged-v2.release"
    ]
    assert finding.status == "fail"
    assert "0.24.0" in finding.title
    assert any(source.line for source in finding.source)


def test_fa3_with_an_nvcc_below_its_gate_fails() -> None:
    made = findings(with_toolkit(toolkit("12.2")), features=("fa3",))
    assert made["feature.fa3.toolkit"].status == "fail"
    assert "12.3" in made["feature.fa3.toolkit"].expected


def test_the_articles_matrix_is_held_against_upstreams_source() -> None:
    target = Target("0.7.2", ("sm_90",), (), "build", "article")
    made = {
        finding.id: finding
        for finding in run_checks(Context(healthy(), target, load.release("0.7.2")))
    }
    finding = made["profile.article.torch"]
    assert finding.status == "warn"
    assert "2.3.0 or 2.3.1" in finding.title
    assert "2.5.1" in finding.title
    assert any(source.file == "requirements-cuda.txt" and source.line for source in finding.source)
    assert {"profile.article.cuda", "profile.article.triton", "profile.article.flash-attn"} <= set(
        made
    )


@pytest.mark.parametrize(("release", "status"), [("12.8", "fail"), ("12.9", "pass")])
def test_deepseek_v4_needs_the_optional_flashmla(release: str, status: str) -> None:
    made = findings(with_toolkit(toolkit(release)), features=("deepseek-v4",))
    assert made["feature.flashmla.toolkit"].status == status
    told = "skip it without an error" in made["feature.flashmla.toolkit"].title
    assert told == (status == "fail")


def test_serving_deepseek_v4_compiles_deep_gemm_at_run_time() -> None:
    machine = with_toolkit(toolkit("12.8"))
    made = findings(machine, features=("deepseek-v4",), purpose="serve", release="0.33.0")
    assert made["feature.deep-gemm.runtime"].status == "fail"
    assert made["feature.deep-gemm.runtime"].expected == "nvcc >=12.9"
