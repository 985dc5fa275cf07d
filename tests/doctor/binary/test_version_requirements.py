"""Requirements on versions of torch, CUDA and glibc."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.binary.builders import Part, Wheel, elf
from tests.doctor.binary.linking import Want, shared

from dsv4_doctor.binary.link_problems import LinkageSummary
from dsv4_doctor.binary.package import Package, parse_headers
from dsv4_doctor.binary.requirements import parse_requirements
from dsv4_doctor.binary.version_requirements import answer, join, parse
from dsv4_doctor.cli.main import run
from dsv4_doctor.errors import UsageError


def decided(text: str, linkage: LinkageSummary | None) -> str:
    requirement = parse(text)
    assert requirement is not None
    return answer(requirement, linkage)[0]


def asking(*requires: str) -> LinkageSummary:
    return LinkageSummary(Package("vllm", "0.24.0", requires=requires))


@pytest.mark.parametrize(
    ("text", "requires", "status"),
    [
        ("torch==2.11", ("torch==2.11.0",), "present"),
        ("torch>=2.10,<2.12", ("numpy", "torch==2.11.0"), "present"),
        ("torch==2.11", ("Torch (==2.11.0+cu130)",), "present"),
        ("torch==2.11", ("torch==2.12.0",), "missing"),
        ("torch>=2", ("torch==2.12.0rc1",), "present"),
        ("torch==2.11", ("torch>=2.10",), "unknown"),
        ("torch==2.11", ("torch==2.*",), "unknown"),
        ("torch==2.11", ("numpy",), "missing"),
    ],
)
def test_torch_that_the_package_asks_for(text: str, requires: tuple[str, ...], status: str) -> None:
    assert decided(text, asking(*requires)) == status


def test_torch_itself_and_no_package() -> None:
    assert decided("torch==2.11", LinkageSummary(Package("torch", "2.11.0+cu130"))) == "present"
    assert decided("torch==2.11", LinkageSummary()) == "unknown"
    assert decided("torch==2.11", None) == "unknown"


@pytest.mark.parametrize(
    ("text", "majors", "status"),
    [
        ("cuda==13", (13,), "present"),
        ("cuda==13", (12, 13), "missing"),
        ("cuda==13", (12,), "missing"),
        ("cuda==13", (), "unknown"),
        ("cuda>=12.8", (13,), "present"),
        ("cuda>=12.8", (12,), "unknown"),
        ("cuda==13.0", (13,), "unknown"),
        ("cuda<13", (12,), "present"),
        ("cuda<=13", (13,), "present"),
        ("cuda>12", (12,), "missing"),
        ("cuda>12", (13,), "present"),
        ("cuda!=12", (12,), "missing"),
    ],
)
def test_cuda_of_the_libraries(text: str, majors: tuple[int, ...], status: str) -> None:
    assert decided(text, LinkageSummary(cuda=majors)) == status


def test_glibc() -> None:
    assert decided("glibc<=2.28", LinkageSummary(glibc="2.28")) == "present"
    assert decided("glibc<=2.28", LinkageSummary(glibc="2.4")) == "present"
    assert decided("glibc<2.28", LinkageSummary(glibc="2.34")) == "missing"
    assert decided("glibc<2.28", LinkageSummary()) == "unknown"


def test_commas_within_one_requirement() -> None:
    requirements = parse_requirements(["fa3,torch>=2.10,<2.12,sm_90", "cuda==13"])
    assert [each.text for each in requirements] == ["fa3", "torch>=2.10,<2.12", "sm_90", "cuda==13"]
    assert join(["<2"]) == ["<2"]
    with pytest.raises(UsageError, match="unknown requirement '<2'"):
        parse_requirements(["sm_90,<2"])
    with pytest.raises(UsageError, match=r"not versions: '==x\.y'"):
        parse_requirements(["torch==x.y"])
    with pytest.raises(UsageError, match="versions of torch, cuda and glibc"):
        parse_requirements(["numpy==2"])


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tag = "cp38-abi3-linux_x86_64"
    path = tmp_path / f"vllm-0.24.0-{tag}.whl"
    metadata = b"Name: vllm\nVersion: 0.24.0\nRequires-Dist: torch==2.11.0\n"
    data = shared(Want("f", "libc.so.6", "GLIBC_2.34"), needed=("libcudart.so.13",))
    members = {"a.so": data, "vllm-0.24.0.dist-info/METADATA": metadata}
    path.write_bytes(Wheel(members=members).data())
    assert run(["inspect", str(path), "--require", "torch==2.11,cuda==13"]) == 0
    out = capsys.readouterr().out
    assert "✓ torch==2.11  vllm 0.24.0 asks for torch==2.11.0" in out
    assert "GLIBCXX" not in out
    assert run(["inspect", str(path), "--require", "glibc<=2.28"]) == 1
    assert "✗ glibc<=2.28  the objects ask for glibc 2.34 at most" in capsys.readouterr().out
    members["b.so"] = elf(Part("", kind=6, link=99))
    path.write_bytes(Wheel(members=members).data())
    assert run(["inspect", str(path), "--require", "cuda==13,torch==2.11"]) == 1
    out = capsys.readouterr().out
    assert "? cuda==13" in out
    assert "✓ torch==2.11" in out


@given(st.text(max_size=30) | st.from_regex(r"(torch|cuda|glibc)[<>=!~]{1,2}[0-9.*]{0,6}"))
def test_any_text_is_a_requirement_or_an_error(text: str) -> None:
    with contextlib.suppress(UsageError):
        requirement = parse(text)
        if requirement is not None:
            for linkage in (LinkageSummary(cuda=(12, 13), glibc="2.28"), asking("torch==2.11.0")):
                assert answer(requirement, linkage)[0] in {"present", "missing", "unknown"}


@given(st.text())
def test_any_head_of_metadata_is_read(text: str) -> None:
    assert all(key == key.lower() for key, _ in parse_headers(text))
