"""Checks of the software around vLLM, each when something is wrong and when nothing is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.machines import (
    PREFIX,
    ROOT,
    SITE,
    bare,
    compiler,
    gpu,
    healthy,
    picks,
    ptxas,
    python_environment,
    toolkit,
    with_packages,
)

from dsv4_doctor.checks.registry import Context, all_checks, run_checks
from dsv4_doctor.facts.build_tools import BuildTool
from dsv4_doctor.facts.build_tree import BuildTree
from dsv4_doctor.facts.compiler import HostCompilers
from dsv4_doctor.facts.python import DeviceCode, Distribution, Ptxas, TorchBuild
from dsv4_doctor.facts.symbols import LibraryNeeds, Symbols, Unresolved
from dsv4_doctor.facts.toolkit import Picks, Toolkits
from dsv4_doctor.knowledge import load
from dsv4_doctor.report import Finding
from dsv4_doctor.snapshot import ProbeRun, Snapshot
from dsv4_doctor.target import Purpose, Target


def findings(
    snapshot: Snapshot,
    identifier: str,
    *,
    release: str = "0.24.0",
    purpose: Purpose = "all",
    arch: str = "sm_90",
) -> list[Finding]:
    target = Target(release, (arch,), ("deepseek-v4",), purpose, features_asked=False)
    # One check where the id is its own: a property test runs it many times.
    chosen = [each for each in all_checks() if each.id == identifier] or None
    made = run_checks(Context(snapshot, target, load.release(release)), chosen)
    return [each for each in made if each.id == identifier]


def statuses(snapshot: Snapshot, identifier: str, **options: str) -> set[str]:
    return {each.status for each in findings(snapshot, identifier, **options)}  # type: ignore[arg-type]


def dist(name: str, version: str, **more: object) -> Distribution:
    return replace(Distribution(name, version, SITE), **more)  # type: ignore[arg-type]


VLLM = dist("vllm", "0.24.0", requires=("torch==2.11.0",))
SECOND = TorchBuild("2.9.0+cu128", "12.8", None, "/root/.local/lib/torch/version.py")
OTHER = dist("torch", "2.9.0")


@pytest.mark.parametrize(
    ("snapshot", "status", "says"),
    [
        (healthy(), "pass", "the only one"),
        (healthy(python=python_environment(other_torches=(SECOND,))), "warn", "2 copies"),
        (healthy(python=with_packages(OTHER)), "warn", "its metadata says 2.9.0"),
    ],
)
def test_one_torch(snapshot: Snapshot, status: str, says: str) -> None:
    (finding,) = findings(snapshot, "torch.install.single")
    assert (finding.status, says in finding.title) == (status, True)


def test_the_torch_of_each_package() -> None:
    vision = dist("torchvision", "0.26.0", requires=("torch==2.10.0",))
    facts = healthy(python=with_packages(VLLM, vision))
    found = {
        each.title.split()[0]: each.status for each in findings(facts, "python.packages.torch")
    }
    assert found == {"vllm": "pass", "torchvision": "warn"}
    loose = healthy(python=with_packages(replace(VLLM, requires=("torch", "not a requirement;;"))))
    assert findings(loose, "python.packages.torch") == []


def test_what_vllm_asks_for() -> None:
    asks = (
        "torch==2.11.0",
        "tilelang==0.1.9",
        "flashinfer-python==0.6.12",
        'setuptools<81; python_version > "3.11"',
        "nvidia-cutlass-dsl[cu13]==4.5.2",
    )
    vllm = replace(VLLM, requires=asks)
    have = (dist("flashinfer-python", "0.6.12"), dist("nvidia-cutlass-dsl", "4.5.2"))
    whole = healthy(python=with_packages(vllm, dist("tilelang", "0.1.9"), *have))
    assert statuses(whole, "vllm.install.requirements") == {"pass"}
    other = healthy(python=with_packages(vllm, dist("tilelang", "0.1.12"), *have))
    (finding,) = findings(other, "vllm.install.requirements", purpose="serve")
    assert (finding.status, "tilelang==0.1.9, not tilelang 0.1.12" in finding.title) == (
        "warn",
        True,
    )
    lacking = healthy(python=with_packages(vllm, *have))
    (finding,) = findings(lacking, "vllm.install.requirements", purpose="serve")
    assert (finding.status, "lacks tilelang==0.1.9" in finding.title) == ("fail", True)
    assert findings(healthy(python=with_packages(VLLM)), "vllm.install.requirements") == []


def test_torch_without_a_list_of_architectures_is_not_judged() -> None:
    torch = python_environment().torch
    assert torch is not None
    unread = healthy(python=python_environment(torch=replace(torch, archs=())))
    assert findings(unread, "torch.arch.gpu") == []
    assert statuses(healthy(), "torch.arch.gpu") == {"pass"}
    assert statuses(healthy(), "torch.arch.gpu", arch="sm_110") == {"fail"}
    assert statuses(healthy(), "torch.arch.gpu", arch="sm_110", purpose="build") == {"warn"}
    # Code for 8.0 serves 8.9, and that for 12.0 serves 12.1.
    assert statuses(healthy(), "torch.arch.gpu", arch="sm_89") == {"pass"}
    assert statuses(healthy(), "torch.arch.gpu", arch="sm_121") == {"pass"}


@pytest.mark.parametrize(
    ("package", "status"),
    [
        (dist("triton", "3.6.0"), "pass"),
        (dist("pytorch-triton", "3.5.0"), "warn"),
    ],
)
def test_one_triton(package: Distribution, status: str) -> None:
    facts = healthy(python=with_packages(package))
    assert statuses(facts, "triton.install.single") == {status}


def test_tritons_assembler() -> None:
    assert statuses(healthy(), "triton.jit.ptxas") == {"pass"}
    assert statuses(healthy(), "triton.jit.ptxas", arch="sm_103") == {"pass"}
    assert statuses(healthy(), "triton.jit.ptxas", arch="sm_110") == {"fail"}
    # Code of exactly the GPU is asked for from Hopper on, and plain code before.
    assert statuses(healthy(), "triton.jit.ptxas", arch="sm_89") == {"pass"}
    assert findings(healthy(), "triton.jit.ptxas", purpose="build") == []
    silent = Ptxas("/x/ptxas", "triton", blackwell=False, archs=(), error="no answer within 2 s")
    facts = healthy(python=python_environment(ptxas=(silent,)))
    assert statuses(facts, "triton.jit.ptxas") == {"unknown"}


def test_a_triton_without_an_assembler_for_blackwell_uses_the_only_one() -> None:
    facts = healthy(python=python_environment(ptxas=(ptxas(),)))
    (finding,) = findings(facts, "triton.jit.ptxas", arch="sm_120")
    assert finding.status == "fail"
    assert finding.remedy is not None
    assert "TRITON_PTXAS_PATH" in finding.remedy.text


def test_tritons_libcuda() -> None:
    assert statuses(healthy(), "triton.jit.libcuda") == {"pass"}
    gone = healthy(python=python_environment(libcuda=()))
    (finding,) = findings(gone, "triton.jit.libcuda")
    assert finding.status == "fail"
    assert finding.remedy is not None
    assert finding.remedy.commands == ()
    # Without a GPU that is no news, and another finding says it.
    assert findings(replace(gone, gpus=()), "triton.jit.libcuda") == []


def test_tritons_compiler() -> None:
    assert statuses(healthy(), "triton.jit.compiler") == {"pass"}
    versioned = compiler("13.3.0", "/usr/bin/gcc-13", "gcc")
    only = healthy(compilers=HostCompilers((versioned,), versioned, "PATH"))
    # Triton looks for gcc by that name; gcc-13 is found by nobody.
    assert statuses(only, "triton.jit.compiler", purpose="serve") == {"fail"}
    named = replace(only, environment={"CC": "/usr/bin/gcc-13"})
    assert statuses(named, "triton.jit.compiler", purpose="serve") == {"pass"}
    gone = healthy(
        environment={"CC": "/gone/gcc"},
        compilers=HostCompilers((versioned,), versioned, "PATH", absent={"CC": "/gone/gcc"}),
    )
    assert statuses(gone, "triton.jit.compiler") == {"warn"}


@pytest.mark.parametrize(
    ("nccl", "status"), [("2.28.9", "pass"), ("2.31.2", "pass"), ("2.21.5", "warn")]
)
def test_a_library_older_than_torch_pins_it(nccl: str, status: str) -> None:
    facts = healthy(python=with_packages(dist("nvidia-nccl-cu13", nccl)))
    assert statuses(facts, "torch.install.libraries") == {status}


@pytest.mark.parametrize(
    ("nvcc", "chosen", "status"),
    [("13.0.88", ROOT, "pass"), ("13.3.73", ROOT, "warn"), ("13.3.73", "/pip", "fail")],
)
def test_pips_compiler_matters_where_it_is_picked(nvcc: str, chosen: str, status: str) -> None:
    found = (toolkit(), replace(toolkit(root="/pip"), origins=("pip",)))
    facts = healthy(
        toolkits=Toolkits(None, found, picks(chosen)),
        python=with_packages(dist("nvidia-cuda-nvcc", nvcc)),
    )
    assert statuses(facts, "cuda.wheels.coherence") == {status}


def test_a_newer_library_before_pips_is_no_fault() -> None:
    newer = {"libnvJitLink.so.13": "/usr/local/cuda/lib64/libnvJitLink.so.13.3.33"}
    facts = healthy(python=python_environment(shadowed=newer))
    assert statuses(facts, "cuda.libraries.shadowed", purpose="serve") == {"pass"}
    unnumbered = {"libcudart.so.13": "/usr/local/cuda/lib64/libcudart.so.13"}
    facts = healthy(python=python_environment(shadowed=unnumbered))
    assert statuses(facts, "cuda.libraries.shadowed", purpose="serve") == {"warn"}
    assert findings(healthy(), "cuda.libraries.shadowed") == []


@pytest.mark.parametrize(
    ("cubin", "environment", "status"),
    [
        ("0.6.12", {}, "pass"),
        ("0.6.12+cu130", {}, "pass"),
        ("0.6.13", {}, "fail"),
        ("0.6.13", {"FLASHINFER_DISABLE_VERSION_CHECK": "1"}, "warn"),
    ],
)
def test_parts_of_flashinfer(cubin: str, environment: dict[str, str], status: str) -> None:
    parts = (dist("flashinfer-python", "0.6.12"), dist("flashinfer-cubin", cubin))
    facts = healthy(python=with_packages(*parts), environment=environment)
    assert statuses(facts, "jit.flashinfer.packages") == {status}


def test_flashinfer_with_all_its_kernels_needs_no_nvcc() -> None:
    main = dist("flashinfer-python", "0.6.12")
    nothing = Toolkits(None, (), picks(None))
    without = healthy(toolkits=nothing, python=with_packages(main))
    assert statuses(without, "jit.flashinfer.compiler") == {"warn"}
    assert statuses(without, "jit.flashinfer.compiler", purpose="serve") == {"fail"}
    cached = with_packages(main, dist("flashinfer-jit-cache", "0.6.12+cu130"))
    have = healthy(toolkits=nothing, python=cached)
    assert statuses(have, "jit.flashinfer.compiler", purpose="serve") == {"pass"}
    off = replace(without, environment={"VLLM_USE_FLASHINFER_SAMPLER": "0"})
    assert statuses(off, "jit.flashinfer.compiler", purpose="serve") == {"warn"}


def test_a_wrapper_of_nvcc_leads_to_a_toolkit() -> None:
    behind = Picks(ROOT, "/usr/local", "/usr/local", {"flashinfer": "/usr/local"})
    python = with_packages(dist("flashinfer-python", "0.6.12"))
    facts = healthy(toolkits=Toolkits(None, (toolkit(),), behind), python=python)
    assert statuses(facts, "jit.flashinfer.compiler", purpose="serve") == {"pass"}
    gone = Picks(None, "/opt/gone", None, {"flashinfer": "/opt/gone"})
    facts = healthy(toolkits=Toolkits(None, (toolkit(),), gone), python=python)
    assert statuses(facts, "jit.flashinfer.compiler", purpose="serve") == {"fail"}


@pytest.mark.parametrize(
    ("flashinfer", "arch", "nvcc", "expected"),
    [
        ("0.6.12", "sm_120", "12.8", {"fail"}),
        ("0.7.2.post1", "sm_120", "12.8", {"pass"}),
        ("0.7.2.post1", "sm_121", "12.8", {"fail"}),
        ("0.6.12", "sm_121", "13.0", {"pass"}),
        ("0.6.12", "sm_90", "12.8", set()),
    ],
)
def test_the_minimum_is_the_consumers(
    flashinfer: str, arch: str, nvcc: str, expected: set[str]
) -> None:
    facts = healthy(
        toolkits=Toolkits(None, (toolkit(nvcc),), picks()),
        python=with_packages(dist("flashinfer-python", flashinfer)),
    )
    assert statuses(facts, "jit.nvcc.minimum", arch=arch) == expected


def test_the_release_says_which_flashinfer_where_none_is_installed() -> None:
    facts = healthy(toolkits=Toolkits(None, (toolkit("12.8"),), picks()))
    (finding,) = findings(facts, "jit.nvcc.minimum", arch="sm_120")
    assert "FlashInfer 0.6.12" in finding.title
    newer = healthy(toolkits=Toolkits(None, (toolkit("12.8"), toolkit(root="/13")), picks()))
    (finding,) = findings(newer, "jit.nvcc.minimum", arch="sm_120")
    assert finding.remedy is not None
    assert finding.remedy.commands[0].env is not None
    assert finding.remedy.commands[0].env["CUDA_HOME"] == "/13"


def test_what_a_server_compiles_with() -> None:
    gone = replace(toolkit(), missing_jit=("bin/cuobjdump", "include/nvrtc.h"))
    facts = healthy(toolkits=Toolkits(None, (gone,), picks()))
    (finding,) = findings(facts, "jit.toolkit.complete", purpose="serve")
    assert (finding.status, "cuobjdump" in finding.found) == ("warn", True)
    assert statuses(healthy(), "jit.toolkit.complete") == {"pass"}
    assert findings(facts, "jit.toolkit.complete", purpose="build") == []


@pytest.mark.parametrize(
    ("value", "fine"),
    [
        ("/usr/local/cuda", True),
        ("/usr/local/cuda 12", True),
        (":/usr/local/cuda", False),
        ("/usr/local/cuda;", False),
        ('"/usr/local/cuda"', False),
        ("~/cuda", False),
        ("/usr/local/cuda ", False),
    ],
)
def test_cuda_home_is_one_directory(value: str, fine: bool) -> None:
    toolkits = healthy().toolkits
    assert toolkits is not None
    assert toolkits.cuda_home is not None
    home = replace(toolkits.cuda_home, value=value)
    facts = healthy(toolkits=replace(toolkits, cuda_home=home))
    assert statuses(facts, "cuda.home.text") == {"pass" if fine else "fail"}


@pytest.mark.parametrize(
    ("exports", "expected"), [(True, {"pass"}), (False, {"fail"}), (None, set())]
)
def test_the_drivers_stub(exports: bool | None, expected: set[str]) -> None:
    made = replace(toolkit(), stub_exports=exports)
    facts = healthy(toolkits=Toolkits(None, (made,), picks()))
    assert statuses(facts, "cuda.toolkit.stub", purpose="build") == expected


def test_the_distributions_toolkit_alone_is_no_fault() -> None:
    own = replace(toolkit(), origins=("PATH", "/usr/lib/nvidia-cuda-toolkit"))
    facts = healthy(toolkits=Toolkits(None, (own,), picks()))
    assert findings(facts, "cuda.toolkit.distribution") == []
    beside = healthy(
        toolkits=Toolkits(None, (own, toolkit("12.4", "/opt/cuda")), picks("/opt/cuda"))
    )
    assert statuses(beside, "cuda.toolkit.distribution") == {"warn"}


def compilers(**changes: object) -> Snapshot:
    made = healthy().compilers
    assert made is not None
    return healthy(compilers=replace(made, **changes))  # type: ignore[arg-type]


def test_the_parts_of_a_compiler() -> None:
    assert statuses(healthy(), "host.compiler.cc1plus") == {"pass"}
    assert statuses(compilers(cc1plus=""), "host.compiler.cc1plus") == {"fail"}
    assert findings(compilers(cc1plus=None), "host.compiler.cc1plus") == []


def test_compilers_that_variables_name() -> None:
    assert findings(healthy(), "host.compiler.named") == []
    gone = compilers(absent={"NVCC_CCBIN": "/gone/g++"})
    (finding,) = findings(gone, "host.compiler.named", purpose="build")
    assert (finding.status, "NVCC_CCBIN=/gone/g++" in finding.title) == ("fail", True)
    assert statuses(gone, "host.compiler.named", purpose="serve") == {"warn"}


def test_the_two_compilers_of_a_build() -> None:
    assert statuses(healthy(), "host.compiler.cxx") == {"pass"}
    newer = compilers(cxx=compiler("15.1.0", "/usr/bin/c++"))
    assert statuses(newer, "host.compiler.cxx") == {"warn"}
    (finding,) = findings(compilers(cxx=compiler("9.4.0", "/usr/bin/c++")), "host.compiler.cxx")
    assert (finding.status, "11.3" in finding.expected) == ("fail", True)
    assert findings(newer, "host.compiler.cxx", purpose="serve") == []


def test_what_only_the_version_of_glibc_tells() -> None:
    facts = compilers(libc_math=None)
    assert statuses(facts, "host.glibc.cuda") == {"pass"}
    host = healthy().host
    assert host is not None
    assert statuses(replace(facts, host=replace(host, glibc="2.42")), "host.glibc.cuda") == {"fail"}
    # The header of this machine's glibc declares neither, whatever its version says.
    assert statuses(healthy(host=replace(host, glibc="2.42")), "host.glibc.cuda") == {"pass"}
    unknown = replace(facts, host=replace(host, glibc=None))
    assert findings(unknown, "host.glibc.cuda") == []


@pytest.mark.parametrize(
    ("clashes", "glibc", "assembled"),
    [(("cospi",), "2.41", True), (("cospi", "rsqrt"), "2.42", False)],
)
def test_no_toolkit_is_recommended_that_clashes_too(
    clashes: tuple[str, ...], glibc: str, assembled: bool
) -> None:
    host = healthy().host
    assert host is not None
    old = replace(toolkit("12.8"), math_clashes=clashes)
    facts = replace(
        compilers(libc_math=None),
        host=replace(host, glibc=glibc),
        toolkits=Toolkits(None, (old,), picks()),
    )
    (finding,) = findings(facts, "host.glibc.cuda")
    assert finding.remedy is not None
    # What this project assembles is CUDA 13.0, whose headers declare rsqrt as 12.8 does.
    assert bool(finding.remedy.commands) is assembled


@pytest.mark.parametrize(
    ("cargo", "environment", "release", "expected"),
    [
        ("/root/.cargo/bin/cargo", {}, "0.24.0", {"pass"}),
        (None, {}, "0.24.0", {"warn"}),
        (None, {"VLLM_REQUIRE_RUST_FRONTEND": "1"}, "0.24.0", {"fail"}),
        (None, {}, "0.16.0", set()),
    ],
)
def test_rust_where_the_release_has_it(
    cargo: str | None, environment: dict[str, str], release: str, expected: set[str]
) -> None:
    facts = healthy(build_tools=(BuildTool("cargo", cargo, None),), environment=environment)
    assert statuses(facts, "build.tools.rust", release=release, purpose="build") == expected
    assert "warn" not in statuses(facts, "build.tools.rust", release=release)


@pytest.mark.parametrize(
    ("setuptools", "status"), [("80.9.0", "pass"), ("81.0.0", "warn"), ("76.0.0", "warn")]
)
def test_the_bounds_of_setuptools(setuptools: str, status: str) -> None:
    facts = healthy(python=with_packages(dist("setuptools", setuptools)))
    (finding,) = findings(facts, "build.python.requirements", purpose="build")
    assert finding.status == status
    assert (setuptools in finding.title) == (status == "warn")


def test_who_has_not_said_that_he_builds_is_not_warned_of_build_requirements() -> None:
    facts = healthy(python=with_packages(dist("setuptools", "81.0.0")))
    assert statuses(facts, "build.python.requirements") == {"skip"}
    assert findings(facts, "build.python.requirements", purpose="serve") == []


def test_a_broken_tool_and_a_silent_one() -> None:
    def tool(error: str) -> Snapshot:
        return healthy(build_tools=(BuildTool("ninja", f"{PREFIX}/bin/ninja", None, error),))

    assert statuses(tool("exit status 127"), "build.tools.ninja") == {"fail"}
    assert statuses(tool("ninja: no answer within 4 s"), "build.tools.ninja") == {"unknown"}


TREE = BuildTree("/src/vllm", vllm=True, sdist=False, work_tree="/src/vllm", tags=90)


@pytest.mark.parametrize(
    ("tree", "environment", "expected"),
    [
        (TREE, {}, {"pass"}),
        (replace(TREE, tags=0, shallow=True), {}, {"warn"}),
        (replace(TREE, work_tree=None), {}, {"fail"}),
        (replace(TREE, work_tree=None), {"VLLM_VERSION_OVERRIDE": "0.24.0"}, {"pass"}),
        (replace(TREE, work_tree=None, sdist=True), {}, set()),
        (replace(TREE, vllm=False, work_tree=None), {}, set()),
    ],
)
def test_the_version_comes_from_git(
    tree: BuildTree, environment: dict[str, str], expected: set[str]
) -> None:
    facts = healthy(build_tree=tree, environment=environment)
    assert statuses(facts, "build.tree.version") == expected


def test_facts_from_a_text_know_of_no_directory() -> None:
    assert findings(Snapshot("", "", ()), "build.tree.version", purpose="build") == []
    hung = healthy(build_tree=None)
    assert statuses(hung, "build.tree.version", purpose="build") == {"unknown"}


def test_nothing_is_missing_from_a_list_that_is_not_whole() -> None:
    asks = replace(VLLM, version="0.12.0", requires=("tilelang==0.1.9",))
    whole = with_packages(asks, dist("flashinfer-python", "0.6.12"))
    kept = tuple(each for each in whole.distributions if each.name != "wheel")
    python = replace(whole, distributions=kept)
    partial = ProbeRun("python.distributions", 0.0, "the text lists only some packages")
    facts = healthy(python=python, toolkits=Toolkits(None, (), picks(None)))
    identifiers = (
        "build.python.requirements",
        "deep_gemm.package.present",
        "jit.flashinfer.compiler",
        "vllm.install.requirements",
    )
    for identifier in identifiers:
        told = replace(facts, probes=(*facts.probes, partial))
        assert statuses(facts, identifier, release="0.12.0") <= {"warn", "skip", "fail"}
        (finding,) = findings(told, identifier, release="0.12.0")
        assert finding.status == "unknown"
        assert "lists only some packages" in finding.found


def test_the_source_trees_that_variables_name() -> None:
    named = healthy(build_tree=replace(TREE, overrides={"FLASH_MLA_SRC_DIR": "/gone"}))
    (finding,) = findings(named, "build.sources.override")
    assert (finding.status, "FLASH_MLA_SRC_DIR=/gone" in finding.title) == ("fail", True)
    assert finding.source
    other = healthy(build_tree=replace(TREE, overrides={"MY_SRC_DIR": "/gone"}))
    assert statuses(other, "build.sources.override") == {"warn"}
    assert findings(healthy(build_tree=TREE), "build.sources.override") == []


def test_a_system_without_glibc() -> None:
    host = healthy().host
    assert host is not None
    musl = healthy(host=replace(host, glibc=None, distribution="alpine"))
    (finding,) = findings(musl, "vllm.wheel.glibc", purpose="serve")
    assert (finding.status, "no glibc" in finding.title) == ("fail", True)
    built = replace(musl, python=with_packages(VLLM))
    assert findings(built, "vllm.wheel.glibc", purpose="serve") == []


def test_compiled_modules_of_an_installed_vllm() -> None:
    bare_files = healthy(python=with_packages(VLLM, dist("flash-attn", "2.8.3")))
    found = findings(bare_files, "vllm.install.modules", purpose="serve")
    assert [each.status for each in found] == ["fail", "warn"]
    whole = healthy(python=with_packages(VLLM, binaries=(module("_C.abi3.so"),)))
    assert statuses(whole, "vllm.install.modules") == {"pass"}
    # FlashAttention 4 is Python all through.
    four = healthy(python=with_packages(dist("flash-attn", "4.0.0")))
    assert findings(four, "vllm.install.modules") == []


def test_a_checkout_that_hides_the_installed_vllm() -> None:
    here = replace(TREE, current=True)
    facts = healthy(build_tree=here, python=with_packages(VLLM))
    assert statuses(facts, "vllm.install.shadow", purpose="serve") == {"warn"}
    assert (
        findings(replace(facts, build_tree=replace(here, compiled=True)), "vllm.install.shadow")
        == []
    )
    assert findings(replace(facts, build_tree=TREE), "vllm.install.shadow") == []
    assert findings(healthy(build_tree=here), "vllm.install.shadow") == []


def test_fa3_asked_for_where_it_runs() -> None:
    asked = healthy(environment={"VLLM_FLASH_ATTN_VERSION": "3"})
    assert statuses(asked, "flash_attn.fa3.gpu") == {"pass"}
    assert findings(healthy(), "flash_attn.fa3.gpu") == []
    package = healthy(python=with_packages(dist("flash-attn-3", "3.0.0")))
    (finding,) = findings(package, "flash_attn.fa3.gpu", arch="sm_120")
    assert (finding.status, "flash-attn-3 3.0.0" in finding.title) == ("warn", True)


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("https://x/flash_attn-2.8.3+cu13torch2.11cxx11abiTRUE-cp312-cp312-linux.whl", {"pass"}),
        ("https://x/flash_attn-2.8.3+cu13torch2.11cxx11abiTRUE-cp310-cp310-linux.whl", {"fail"}),
        ("https://x/flash_attn-2.8.3.tar.gz", set()),
        (None, set()),
    ],
)
def test_the_tag_of_flash_attns_wheel(origin: str | None, expected: set[str]) -> None:
    package = dist("flash-attn", "2.8.3", origin=origin)
    assert statuses(healthy(python=with_packages(package)), "flash_attn.package.torch") == expected


def test_a_separate_deep_gemm() -> None:
    package = dist("deep-gemm", "2.5.0")
    beside = healthy(python=with_packages(VLLM, package))
    assert statuses(beside, "deep_gemm.package.present") == {"warn"}
    older = healthy(python=with_packages(replace(VLLM, version="0.16.0"), package))
    assert statuses(older, "deep_gemm.package.present", release="0.16.0") == {"pass"}
    assert findings(healthy(python=with_packages(VLLM)), "deep_gemm.package.present") == []


def module(name: str, **more: object) -> DeviceCode:
    made = DeviceCode(f"{SITE}/vllm/{name}", "vllm", ("sm_90",), (), cuda=(13,))
    return replace(made, **more)  # type: ignore[arg-type]


def test_components_of_an_installed_vllm() -> None:
    names = ("_flashmla_C.abi3.so", "third_party/deep_gemm/_C.cpython-312-x86_64-linux-gnu.so")
    whole = healthy(python=with_packages(VLLM, binaries=tuple(map(module, names))))
    assert statuses(whole, "vllm.install.components") == {"pass"}
    half = healthy(python=with_packages(VLLM, binaries=(module(names[0]),)))
    assert statuses(half, "vllm.install.components") == {"pass", "fail"}
    other = replace(module(names[0]), sass=("sm_100f",))
    wrong = healthy(python=with_packages(VLLM, binaries=(other, module(names[1], sass=()))))
    titles = {each.title for each in findings(wrong, "vllm.install.components")}
    assert "_flashmla_C of the installed vLLM has no code for sm_90" in titles
    # Another release may have other modules; 12.x does not use FlashMLA.
    assert findings(half, "vllm.install.components", release="0.22.0") == []
    found = findings(half, "vllm.install.components", arch="sm_120")
    assert [each.expected for each in found] == ["vllm/third_party/deep_gemm/_C.cpython-*.so"]


def test_ptx_and_the_driver() -> None:
    only = module("_vllm_fa2_C.abi3.so", sass=("sm_80",), ptx=("compute_80",))
    facts = healthy(python=with_packages(VLLM, binaries=(only,)))
    assert statuses(facts, "arch.installed.ptx") == {"pass"}
    driver = healthy().driver
    assert driver is not None
    older = replace(facts, driver=replace(driver, cuda="12.8"))
    assert statuses(older, "arch.installed.ptx") == {"fail"}
    # A GPU whose machine code is there needs no PTX of this module.
    ampere = replace(older, gpus=(gpu(capability="8.0"),))
    assert statuses(ampere, "arch.installed.ptx", arch="sm_80") == {"warn"}


def test_symbols_are_judged_only_where_somebody_looked() -> None:
    assert findings(healthy(), "vllm.install.symbols") == []
    path = f"{SITE}/vllm/_C.abi3.so"
    fine = healthy(symbols=Symbols(f"{SITE}/torch/lib", (path,), ()))
    assert statuses(fine, "vllm.install.symbols") == {"pass"}
    unread = healthy(symbols=Symbols(None, (path,), (), ("no torch",)))
    assert statuses(unread, "vllm.install.symbols") == {"unknown"}
    hung = healthy(probes=(ProbeRun("symbols", 5.0, "no answer within 5 s"),))
    assert statuses(hung, "vllm.install.symbols") == {"unknown"}
    nothing = healthy(symbols=Symbols(None, (), ()))
    assert findings(nothing, "vllm.install.symbols") == []


def test_modules_of_one_cause_are_one_finding() -> None:
    paths = tuple(f"{SITE}/vllm/{name}.abi3.so" for name in ("_C", "_moe_C"))
    problems = [
        Unresolved(path, "vllm", kind, "why", (f"_ZN3c10{kind}{index}", "_ZN3c10both"), 5)
        for index, path in enumerate(paths)
        for kind in ("torch-abi", "not-compiled")
    ]
    facts = healthy(symbols=Symbols(f"{SITE}/torch/lib", paths, tuple(problems)))
    first, second = findings(facts, "vllm.install.symbols", purpose="serve")
    assert "_C.abi3.so, _moe_C.abi3.so" in first.found
    assert (
        "another torch or C++ ABI: _ZN3c10torch-abi0, _ZN3c10both, _ZN3c10torch-abi1" in first.title
    )
    assert "and 7 more" in first.title
    assert "never compiled" in second.title
    assert first.remedy is not None
    assert "torch==2.11.0" in first.remedy.commands[0].argv


@pytest.mark.parametrize(
    ("glibc", "glibcxx", "status"),
    [("2.28", "3.4.30", "pass"), ("2.40", "3.4.30", "fail"), ("2.28", "3.4.34", "fail")],
)
def test_the_c_libraries_under_all_packages(glibc: str, glibcxx: str, status: str) -> None:
    needs = LibraryNeeds("xgrammar", f"{SITE}/xgrammar/x.so", glibc, glibcxx)
    facts = healthy(symbols=Symbols(None, (), (), needs=(needs,)))
    assert statuses(facts, "python.packages.libraries") == {status}
    partly = healthy(symbols=Symbols(None, (), (), needs=(needs,), unread=("zstd",)))
    left = "unknown" if status == "pass" else status
    assert statuses(partly, "python.packages.libraries") == {left}


def test_reports_need_every_condition() -> None:
    b300 = healthy(gpus=(gpu(capability="10.3", name="NVIDIA B300"),))
    for release, arch, matches in (("0.22.1", "sm_103", False), ("0.24.0", "sm_103", False)):
        assert bool(findings(b300, "known.reports.match", release=release, arch=arch)) is matches
    blackwell = healthy(gpus=(gpu(capability="12.0"),))
    (finding,) = findings(blackwell, "known.reports.match", arch="sm_120")
    assert finding.source[0].file == "#47130"
    known = replace(blackwell, environment={"VLLM_USE_DEEP_GEMM": "0"})
    assert findings(known, "known.reports.match", arch="sm_120") == []
    assert findings(blackwell, "known.reports.match", arch="sm_120", purpose="build") == []


def test_h200_is_not_h20() -> None:
    assert findings(healthy(), "known.reports.match", release="0.27.1") == []


@given(st.text())
def test_any_list_of_architectures(value: str) -> None:
    for finding in findings(
        healthy(environment={"TORCH_CUDA_ARCH_LIST": value}), "arch.list.release"
    ):
        assert finding.status in {"pass", "warn", "fail"}


@given(st.text())
def test_any_origin_of_flash_attn(origin: str) -> None:
    package = dist("flash-attn", "2.8.3", origin=origin)
    findings(healthy(python=with_packages(package)), "flash_attn.package.torch")


@given(st.text())
def test_any_cuda_home(value: str) -> None:
    toolkits = healthy().toolkits
    assert toolkits is not None
    assert toolkits.cuda_home is not None
    home = replace(toolkits.cuda_home, value=value)
    (finding,) = findings(healthy(toolkits=replace(toolkits, cuda_home=home)), "cuda.home.text")
    assert (finding.status == "fail") == (finding.remedy is not None)


def test_a_machine_with_nothing_has_nothing_to_fit() -> None:
    for identifier in ("torch.arch.gpu", "cuda.wheels.coherence", "jit.toolkit.consumers"):
        assert findings(bare(), identifier) == []
