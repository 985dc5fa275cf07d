"""Requests, surroundings and plans for tests, on machines that are only facts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.doctor import machines

from dsv4_build.plan import Plan
from dsv4_build.planner import make_plan
from dsv4_build.request import BuildRequest, Surroundings
from dsv4_doctor.facts.compiler import HostCompilers
from dsv4_doctor.snapshot import Snapshot

GXX = machines.compiler("12.2.0", "/usr/bin/g++")
GCC = machines.compiler("12.2.0", "/usr/bin/gcc", "gcc")


def request(**changes: object) -> BuildRequest:
    """Return a request for the smoke tree on Hopper."""
    made = BuildRequest(archs=("sm_90",), out=Path("dist"), recipe="smoke")
    return replace(made, **changes)  # type: ignore[arg-type]


def vllm_request(tree: Path, **changes: object) -> BuildRequest:
    """Return a request for a vLLM tree."""
    return request(recipe=None, vllm=str(tree), **changes)


def around(tmp_path: Path, **environ: str) -> Surroundings:
    """Return surroundings with nothing installed beside the doctor."""
    return Surroundings(
        environ={"PATH": "/usr/bin:/bin", **environ},
        scripts=tmp_path / "scripts",
        machine="x86_64",
        cache=tmp_path / "cache",
        paths=lambda wish: ("own", "a test"),
    )


def machine(**changes: object) -> Snapshot:
    """Return a healthy machine with gcc 12."""
    made = machines.healthy(compilers=HostCompilers((GCC, GXX), GCC, "PATH"))
    return replace(made, **changes)  # type: ignore[arg-type]


def plan(tmp_path: Path, **changes: object) -> Plan:
    """Return a plan for the smoke tree."""
    return make_plan(request(**changes), machine(), around(tmp_path))


def vllm_tree(tmp_path: Path, version: str = "0.24.0") -> Path:
    """Return a directory that calls itself vLLM and has the files that the build touches."""
    tree = tmp_path / f"vllm-{version}"
    external = tree / "cmake" / "external_projects"
    external.mkdir(parents=True)
    (tree / "PKG-INFO").write_text(f"Metadata-Version: 2.4\nName: vllm\nVersion: {version}\n")
    (tree / "CMakeLists.txt").write_text("project(vllm_extensions)\n")
    (tree / "setup.py").write_text("import setuptools\n")
    for name in ("deepgemm", "flashmla", "fmha_sm100", "qutlass", "triton_kernels"):
        (external / f"{name}.cmake").write_text(f"# fetch {name}\n")
    (external / "vllm_flash_attn.cmake").write_text("# fetch flash attention\n")
    return tree
