"""Checks of the toolkit, CUDA_HOME and the host compiler."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.doctor.machines import ROOT, bare, compiler, healthy, toolkit

from dsv4_doctor.checks.registry import Context, run_checks
from dsv4_doctor.facts.compiler import HostCompilers
from dsv4_doctor.facts.toolkit import PathChain, Picks, Toolkit, Toolkits
from dsv4_doctor.knowledge import load
from dsv4_doctor.report import Finding
from dsv4_doctor.snapshot import Snapshot
from dsv4_doctor.target import Purpose, Target


def findings(
    snapshot: Snapshot,
    *,
    release: str = "0.24.0",
    purpose: Purpose = "build",
    features: tuple[str, ...] = (),
    archs: tuple[str, ...] = ("sm_90",),
    asked: bool = True,
) -> dict[str, Finding]:
    target = Target(release, archs, features, purpose, features_asked=asked)
    made = run_checks(Context(snapshot, target, load.release(release)))
    return {finding.id: finding for finding in made}


def with_toolkit(
    *toolkits: Toolkit, home: PathChain | None = None, picks: Picks | None = None
) -> Snapshot:
    root = toolkits[0].root
    return healthy(toolkits=Toolkits(home, toolkits, picks or Picks(root, root, root)))


@pytest.mark.parametrize(
    ("release", "status"), [("11.8", "fail"), ("12.1", "fail"), ("12.2", "pass"), ("13.0", "pass")]
)
def test_the_floor_is_12_2(release: str, status: str) -> None:
    finding = findings(with_toolkit(toolkit(release)))["cuda.toolkit.version"]
    assert finding.status == status
    assert finding.expected == ">= 12.2"


def test_12_10_is_newer_than_12_2() -> None:
    assert findings(with_toolkit(toolkit("12.10")))["cuda.toolkit.version"].status == "pass"


def test_the_drivers_cuda_version_is_not_taken_for_a_toolkit() -> None:
    machine = bare(driver=healthy().driver)
    made = findings(machine)
    assert made["cuda.toolkit.present"].status == "fail"
    assert "cuda.toolkit.version" not in made


def test_parts_of_two_releases_are_incoherent() -> None:
    mixed = replace(toolkit(), header_version="13.3")
    finding = findings(with_toolkit(mixed))["cuda.toolkit.coherence"]
    assert finding.status == "fail"
    assert "13.0 and 13.3" in finding.title


def test_a_compiler_that_does_not_answer_is_named_with_the_reason() -> None:
    silent = replace(toolkit(), nvcc_version=None, nvcc_error="no answer within 4 s")
    finding = findings(with_toolkit(silent))["cuda.toolkit.present"]
    assert finding.status == "fail"
    assert "no answer within 4 s" in finding.found


def test_missing_files_are_listed() -> None:
    finding = findings(with_toolkit(replace(toolkit(), missing=("include/cublas_v2.h",))))
    assert finding["cuda.toolkit.complete"].status == "warn"
    assert "include/cublas_v2.h" in finding["cuda.toolkit.complete"].found


def test_cuda_home_that_does_not_exist_fails() -> None:
    made = findings(with_toolkit(toolkit(), home=PathChain("/opt/gone", (), exists=False)))
    assert made["cuda.home.set"].status == "fail"
    assert made["cuda.home.agreement"].status == "warn"
    assert "cuda.home.symlink" not in made


@pytest.mark.parametrize(
    ("value", "hops", "status"),
    [
        ("/usr/local/cuda", ("/etc/alternatives/cuda", ROOT), "warn"),
        ("/usr/local/cuda/", ("/usr/local/cuda-13.0",), "warn"),
        ("/usr/local/cuda-13", ("/usr/local/cuda-13.0",), "warn"),
        ("/usr/local/cuda-13.0", (), "pass"),
        ("/opt/cuda-13.0", (ROOT,), "pass"),
        ("/usr/local/cuda", (), "pass"),
    ],
)
def test_only_an_unversioned_link_is_a_warning(
    value: str, hops: tuple[str, ...], status: str
) -> None:
    made = findings(with_toolkit(toolkit(), home=PathChain(value, hops, exists=True)))
    assert made["cuda.home.symlink"].status == status


def test_cuda_home_unset_is_a_warning_for_a_build_only() -> None:
    machine = with_toolkit(toolkit())
    assert findings(machine)["cuda.home.set"].status == "warn"
    assert findings(machine, purpose="serve")["cuda.home.set"].status == "skip"


def test_path_with_another_release_fails_for_a_build() -> None:
    old = toolkit("12.8", "/usr/local/cuda-12.8")
    home = PathChain(ROOT, (), exists=True)
    picks = Picks(path=old.root, torch=ROOT, cmake=old.root)
    made = findings(with_toolkit(toolkit(), old, home=home, picks=picks))
    finding = made["cuda.home.agreement"]
    assert finding.status == "fail"
    assert "PATH: /usr/local/cuda-12.8" in finding.found
    assert finding.remedy is not None
    assert finding.remedy.commands[0].env is not None
    assert finding.remedy.commands[0].env["PATH"] == f"{ROOT}/bin:$PATH"


def with_compilers(*versions: str, gcc_max: int = 15) -> Snapshot:
    found = tuple(
        compiler(version, f"/usr/bin/g++-{version.split('.')[0]}" if index else "/usr/bin/g++")
        for index, version in enumerate(versions)
    )
    made = toolkit(gcc_max=gcc_max)
    return healthy(
        toolkits=Toolkits(None, (made,), Picks(made.root, made.root, made.root)),
        compilers=HostCompilers(found, found[0], "PATH"),
    )


@pytest.mark.parametrize(("version", "status"), [("15.2.0", "pass"), ("16.1.0", "fail")])
def test_the_ceiling_is_the_toolkits_own_header(version: str, status: str) -> None:
    finding = findings(with_compilers(version))["host.compiler.ceiling"]
    assert finding.status == status
    assert finding.expected == "gcc <= 15"
    assert finding.source[0].file.endswith("crt/host_config.h")
    assert finding.source[0].line == 143


@pytest.mark.parametrize(
    ("version", "release", "status"),
    [
        ("11.2.0", "0.24.0", "fail"),
        ("11.3.0", "0.24.0", "pass"),
        ("11.4.0", "0.33.0", "fail"),
        ("13.1.0", "0.33.0", "pass"),
    ],
)
def test_the_floor_is_the_releases(version: str, release: str, status: str) -> None:
    finding = findings(with_compilers(version), release=release)["host.compiler.floor"]
    assert finding.status == status
    assert finding.source[0].release == release
    assert finding.source[0].line


def test_a_release_without_a_floor_says_nothing_of_one() -> None:
    assert "host.compiler.floor" not in findings(with_compilers("9.1.0"), release="0.7.2")


def test_the_remedy_names_an_installed_compiler_variables_first() -> None:
    made = findings(with_compilers("16.1.0", "11.1.0", "14.2.0", "12.3.0"))
    remedy = made["host.compiler.ceiling"].remedy
    assert remedy is not None
    assert "/usr/bin/g++-14 (14.2.0)" in remedy.text
    variables, alternatives = remedy.commands
    assert variables.env is not None
    assert variables.env["CUDAHOSTCXX"] == "/usr/bin/g++-14"
    assert variables.env["CC"] == "/usr/bin/gcc-14"
    assert alternatives.argv[0] == "update-alternatives"
    assert alternatives.root


def test_with_none_installed_the_remedy_names_the_package() -> None:
    remedy = findings(with_compilers("16.1.0"))["host.compiler.ceiling"].remedy
    assert remedy is not None
    assert remedy.commands[0].argv == ("apt-get", "install", "-y", "g++-15")


def test_a_window_that_no_compiler_fits_asks_for_a_newer_toolkit() -> None:
    made = findings(with_compilers("12.3.0", gcc_max=12), release="0.33.0")
    remedy = made["host.compiler.floor"].remedy
    assert remedy is not None
    assert "no gcc fits" in remedy.text


def test_clang_has_a_ceiling_of_its_own() -> None:
    machine = with_compilers("13.0.0")
    clang = compiler("21.1.0", "/usr/bin/clang++", "clang++")
    made = findings(replace(machine, compilers=HostCompilers((clang,), clang, "NVCC_CCBIN")))
    assert made["host.compiler.ceiling"].status == "fail"
    assert made["host.compiler.ceiling"].expected == "clang < 21"


def test_no_compiler_at_all_fails() -> None:
    made = findings(replace(healthy(), compilers=HostCompilers((), None, None)))
    assert made["host.compiler.present"].status == "fail"


def test_a_wrapper_that_leads_torch_astray_is_named() -> None:
    picks = Picks(path=ROOT, torch="/usr/local", cmake="/usr/local")
    finding = findings(with_toolkit(toolkit(), picks=picks))["cuda.home.agreement"]
    assert finding.status == "fail"
    assert "torch: /usr/local (no toolkit)" in finding.found


@pytest.mark.parametrize(("release", "offered"), [("0.24.0", True), ("0.7.2", False)])
def test_a_toolkit_is_offered_only_in_the_release_that_is_assembled(
    release: str, offered: bool
) -> None:
    remedy = findings(bare(), release=release)["cuda.toolkit.present"].remedy
    assert remedy is not None
    assert bool(remedy.commands) == offered


@pytest.mark.parametrize("purpose", ["build", "serve", "all"])
def test_an_nvcc_that_does_not_answer_is_one_fault_and_not_several(purpose: Purpose) -> None:
    silent = replace(
        toolkit(),
        nvcc_version=None,
        nvcc_error="no answer within 2 s",
        header_version=None,
        manifest_version=None,
        host_compiler=None,
        archs=(),
    )
    made = findings(with_toolkit(silent), purpose=purpose, features=("deepseek-v4", "fa3"))
    ours = [each for each in made.values() if each.id.split(".")[0] in {"cuda", "feature", "arch"}]
    assert [each.id for each in ours if each.status == "fail"] == ["cuda.toolkit.present"]
    assert not any("None" in f"{each.title} {each.found} {each.expected}" for each in made.values())
