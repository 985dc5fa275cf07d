"""What is inside a toolkit beyond its compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.probes.fakes import fake_toolkit, program

from dsv4_doctor.probes import cuda_files, toolkit, toolkit_content, toolkit_layout

if TYPE_CHECKING:
    from pathlib import Path

# The layout of crt/math_functions.h before and after NVIDIA gave the functions a macro.
DECLARES = "extern __DEVICE_FUNCTIONS_DECL__ __device_builtin__ double    {}(double x){};\n"


def write(root: Path, *names: str, text: str = "") -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def test_versions_of_the_runtime_and_of_cccl(tmp_path: Path) -> None:
    write(tmp_path, "include/cuda_runtime_api.h", text="#define CUDART_VERSION  13000\n")
    write(tmp_path, "include/cccl/cuda/std/__cccl/version.h", text="#define CCCL_VERSION 3000001\n")
    found = toolkit_content.read(tmp_path)
    assert (found["runtime_version"], found["cccl_version"]) == ("13.0", "3.0.1")


def test_what_a_server_needs_to_compile(tmp_path: Path) -> None:
    assert "bin/cuobjdump" in toolkit_content.missing_jit(tmp_path)
    headers = [f"include/{name}" for name in toolkit_content._JIT_HEADERS]
    write(tmp_path, *headers, "bin/nvcc", "bin/cuobjdump", "lib64/libcudart.so")
    assert toolkit_content.missing_jit(tmp_path) == ("lib64/libnvrtc.so",)
    write(tmp_path, "lib64/libnvrtc.so")
    assert toolkit_content.missing_jit(tmp_path) == ()
    # As in conda's and pip's toolkits, whose libraries FlashInfer's link step does not find.
    (tmp_path / "lib64").rename(tmp_path / "lib")
    assert toolkit_content.missing_jit(tmp_path) == ("lib64/libcudart.so",)


def test_the_math_headers_of_the_hpc_sdk_are_beside_it(tmp_path: Path) -> None:
    root = tmp_path / "24.3/cuda/12.3"
    root.mkdir(parents=True)
    assert toolkit_content.math_libraries(root) is None
    write(tmp_path, "24.3/math_libs/12.3/include/cublas_v2.h")
    assert toolkit_content.math_libraries(root) == f"{tmp_path}/24.3/math_libs/12.3/include"


@pytest.mark.parametrize(
    ("content", "expected"), [(b"\0cuInit\0cuMemAlloc\0", True), (b"\x7fELF nothing", False)]
)
def test_whether_the_stub_defines_anything(tmp_path: Path, content: bytes, expected: bool) -> None:
    assert toolkit_content.stub_exports(tmp_path) is None
    (tmp_path / "lib64/stubs").mkdir(parents=True)
    (tmp_path / "lib64/stubs/libcuda.so").write_bytes(content)
    assert toolkit_content.stub_exports(tmp_path) is expected


def test_functions_without_an_exception_clause(tmp_path: Path) -> None:
    text = (
        DECLARES.format("cospi", "")
        + DECLARES.format("sinpi", " __NV_IEC_60559_FUNCS_EXCEPTION_SPECIFIER")
        + DECLARES.format("rsqrt", " noexcept(true)")
        + DECLARES.format("acospi", "")
    )
    write(tmp_path, "include/crt/math_functions.h", text=text)
    assert toolkit_content.read(tmp_path)["math_clashes"] == ("cospi",)


def test_an_image_without_a_compiler_is_a_toolkit_too(tmp_path: Path) -> None:
    write(tmp_path, "usr/local/cuda-12.8/lib64/libcudart.so.12")
    assert toolkit_layout.is_toolkit(tmp_path / "usr/local/cuda-12.8")
    (only,) = toolkit.survey({"PATH": ""}, f"{tmp_path}/no-python", tmp_path).found
    assert only.nvcc is None


def test_the_hpc_sdk_is_found(tmp_path: Path) -> None:
    root = tmp_path.resolve() / "opt/nvidia/hpc_sdk/Linux_aarch64/24.3/cuda/12.3"
    fake_toolkit(root)
    (only,) = toolkit.survey({"PATH": ""}, f"{tmp_path}/no-python", tmp_path).found
    assert (only.root, only.origins) == (str(root), ("HPC SDK",))


def test_tilelang_takes_the_nvcc_of_pip_before_the_usual_place(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    local = fake_toolkit(root / "usr/local/cuda")
    site = root / "venv/lib/python3.12/site-packages"
    own = fake_toolkit(site / "nvidia/cu13", version="13.0.88", code=13000)
    answer = ("3.12.3", f"{root}/venv", "/usr", "", [str(site)])
    python = program(root / "venv/bin/python", f'echo "{answer!r}"')
    found = toolkit.survey({"PATH": ""}, str(python), root).picks
    assert found.runtime == {
        "flashinfer": str(local),
        "deep-gemm": str(local),
        "tilelang": str(own),
    }
    named = toolkit.survey({"PATH": "", "CUDA_HOME": str(local)}, str(python), root).picks
    assert named.runtime["tilelang"] == str(local)


@given(st.text())
def test_any_text(text: str) -> None:
    cuda_files.parse_runtime_header(text)
    cuda_files.parse_cccl_header(text)
    assert set(cuda_files.parse_math_functions(text)) <= {
        name + suffix for name in ("cospi", "sinpi", "rsqrt") for suffix in ("", "f")
    }
