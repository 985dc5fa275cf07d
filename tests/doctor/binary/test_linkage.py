"""What is wrong with how objects are linked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.binary.builders import Entry, Part, Wheel, container, elf
from tests.doctor.binary.linking import Want, shared

from dsv4_doctor.binary.inspection import Options, inspect_path
from dsv4_doctor.binary.link_problems import LinkageSummary, Problem
from dsv4_doctor.binary.linkage import cuda_majors, newest_versions
from dsv4_doctor.binary.symbols import owner_of, stem_of
from dsv4_doctor.cli.main import run
from dsv4_doctor.errors import InputError
from dsv4_doctor.knowledge.linkage import policy, stable_abi

ERROR_NEW = "_ZN3c105ErrorC2ENSt7__cxx1112basic_stringE"
ERROR_OLD = "_ZN3c105ErrorC2ESs"
KERNEL = "_ZN4vllm18paged_attention_v2ERN2at6TensorE"
TORCH = ("libtorch.so", "libc10.so", "libcuda.so.1", "libc.so.6")
METADATA = b"Metadata-Version: 2.1\nName: vllm\nVersion: 0.24.0\n\nlong text"


def wheel(
    folder: Path, objects: dict[str, bytes], tag: str = "cp38-abi3-manylinux_2_28_x86_64"
) -> Path:
    path = folder / f"vllm-0.24.0-{tag}.whl"
    told = f"Wheel-Version: 1.0\nTag: {tag}\n".encode()
    info = {"vllm-0.24.0.dist-info/METADATA": METADATA, "vllm-0.24.0.dist-info/WHEEL": told}
    path.write_bytes(Wheel(members={**objects, **info}).data())
    return path


def torch(folder: Path, *defined: str, cuda: int = 13) -> Path:
    library = folder / "torch/lib"
    library.mkdir(parents=True)
    (library / "libc10.so").write_bytes(shared(defined=defined, needed=(f"libcudart.so.{cuda}",)))
    (library / "libtorch.so").write_bytes(shared(soname="libtorch.so"))
    (library / "libother.so").write_bytes(b"no library at all")
    return folder / "torch"


def summary(path: Path, with_torch: Path | None = None) -> LinkageSummary:
    found = inspect_path(path, Options(linkage=True, torch=with_torch)).linkage
    assert found is not None
    return found


def kinds(found: LinkageSummary) -> list[str]:
    return [each.kind for each in found.problems]


def test_a_wheel_that_keeps_its_promise(tmp_path: Path) -> None:
    data = shared(
        Want("memcpy", "libc.so.6", "GLIBC_2.14"),
        Want("_Znwm", "libstdc++.so.6", "GLIBCXX_3.4.21"),
        "PyModule_Create2",
        ERROR_NEW,
        needed=(*TORCH, "libcudart.so.13", "libstdc++.so.6"),
    )
    found = summary(wheel(tmp_path, {"vllm/_C.abi3.so": data}), torch(tmp_path, ERROR_NEW))
    assert found.problems == ()
    assert found.unknown == ()
    assert (found.glibc, found.glibcxx, found.cxxabi, found.cuda) == ("2.14", "3.4.21", None, (13,))
    assert (found.package.name, found.package.version) == ("vllm", "0.24.0")


def test_versions_that_the_tag_does_not_promise(tmp_path: Path) -> None:
    data = shared(
        Want("a", "libc.so.6", "GLIBC_2.9"),
        Want("b", "libc.so.6", "GLIBC_2.34"),
        Want("c", "libstdc++.so.6", "GLIBCXX_3.4.30"),
        Want("d", "libm.so.6", "GLIBC_PRIVATE"),
    )
    found = summary(wheel(tmp_path, {"vllm/x.so": data}))
    assert found.problems == (
        Problem(
            "manylinux",
            "vllm/x.so",
            "asks for GLIBC_2.34; manylinux_2_28_x86_64 promises 2.28 at most",
        ),
        Problem(
            "manylinux",
            "vllm/x.so",
            "asks for GLIBCXX_3.4.30; manylinux_2_28_x86_64 promises 3.4.24 at most",
        ),
    )


def test_file_name_and_tag_inside_differ(tmp_path: Path) -> None:
    path = wheel(tmp_path, {"a.so": shared()}, "cp38-abi3-linux_x86_64")
    renamed = path.rename(tmp_path / "vllm-0.24.0-cp38-abi3-manylinux1_x86_64.whl")
    (problem,) = summary(renamed).problems
    assert problem.kind == "tags"
    assert "manylinux1_x86_64, the file WHEEL in it cp38-abi3-linux_x86_64" in problem.reason


def test_two_majors_of_cuda(tmp_path: Path) -> None:
    objects = {
        "a.so": shared(needed=("libcudart.so.12",)),
        "b.so": shared(needed=("libcublas.so.13", "libcufft.so.11")),
    }
    (problem,) = summary(wheel(tmp_path, objects)).problems
    assert problem.kind == "cuda-majors"
    assert "CUDA 12: a.so; CUDA 13: b.so" in problem.reason
    only = wheel(tmp_path, {"a.so": objects["a.so"]})
    assert kinds(summary(only)) == []
    assert kinds(summary(only, torch(tmp_path, cuda=13))) == ["cuda-majors"]


def test_python_beyond_the_stable_abi(tmp_path: Path) -> None:
    data = shared(
        "PyLong_AsLong", "PyUnicode_AsUTF8", "PyObject_GetBuffer", Want("_Py_x", info=0x22)
    )
    found = summary(wheel(tmp_path, {"_C.abi3.so": data, "_C.cpython-312-x.so": data}))
    outside, newer = found.problems
    assert (outside.object, outside.symbols) == ("_C.abi3.so", ("PyUnicode_AsUTF8",))
    assert newer.reason == (
        "uses PyObject_GetBuffer, in the stable ABI since Python 3.11; the tag promises 3.8"
    )


def test_torch_of_another_abi_and_of_another_release(tmp_path: Path) -> None:
    data = shared(ERROR_OLD, "_ZNK3c106SymInt6sym_neERKS0_", ERROR_NEW, needed=TORCH)
    path = wheel(tmp_path, {"_C.so": data})
    given = torch(tmp_path, ERROR_NEW)
    for place in (given, given / "lib", tmp_path, given / "lib/libc10.so"):
        other, absent = summary(path, place).problems
        assert (other.kind, absent.kind) == ("torch-abi", "torch-abi")
        assert other.symbols == (ERROR_OLD,)
        assert "with other parameters only" in other.reason
        assert absent.symbols == ("_ZNK3c106SymInt6sym_neERKS0_",)
    without = summary(path)
    assert without.problems == ()
    assert without.unknown == ("whether a torch defines the 3 symbols asked of it: give --torch",)


def test_kernel_that_was_never_compiled(tmp_path: Path) -> None:
    path = wheel(tmp_path, {"_C.so": shared(KERNEL, needed=TORCH)})
    given = torch(tmp_path)
    (problem,) = summary(path, given).problems
    assert (problem.kind, problem.symbols) == ("not-compiled", (KERNEL,))
    # Without a torch it could be one of its symbols; with a library unseen, one of that.
    assert summary(path).problems == ()
    unseen = wheel(tmp_path, {"_C.so": shared(KERNEL, needed=(*TORCH, "libmine.so"))})
    assert summary(unseen, given).problems == ()
    assert "whether libmine.so define 1 C++ symbols" in summary(unseen, given).unknown[0]
    # Another object of the same wheel may have it, and torch may.
    both = {"_C.so": shared(KERNEL, needed=TORCH), "_D.so": shared(defined=(KERNEL,))}
    assert summary(wheel(tmp_path, both), given).problems == ()
    assert summary(path, torch(tmp_path / "other", KERNEL)).problems == ()


def test_symbols_of_the_cxx_library_without_a_version(tmp_path: Path) -> None:
    path = wheel(tmp_path, {"_C.so": shared("_ZSt21ios_base_library_initv", needed=TORCH)})
    found = summary(path, torch(tmp_path))
    assert found.problems == ()
    assert "_ZSt21ios_base_library_initv: they are asked for without" in found.unknown[0]
    assert summary(path, torch(tmp_path / "b", "_ZSt21ios_base_library_initv")).unknown == ()


def test_no_torch_there(tmp_path: Path) -> None:
    path = wheel(tmp_path, {"_C.so": shared(ERROR_NEW)})
    with pytest.raises(InputError, match="no libraries of torch in it"):
        summary(path, tmp_path)
    assert run(["inspect", str(path), "--torch", "/nowhere"]) == 2


def test_objects_that_are_not_linked(tmp_path: Path) -> None:
    objects = {"a.o": elf(kind=1), "k.fatbin": container(Entry("sm_90"))}
    found = inspect_path(wheel(tmp_path, objects), Options(linkage=True))
    assert [each.linkage for each in found.objects] == [None, None]
    assert [each.error for each in found.objects] == [None, None]


def test_damaged_object_is_said(tmp_path: Path) -> None:
    objects = {"a.so": elf(Part("", kind=6, link=99))}
    (found,) = inspect_path(wheel(tmp_path, objects), Options(linkage=True)).objects
    assert "no section 99" in (found.error or "")


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = wheel(
        tmp_path, {"_C.abi3.so": shared("PyUnicode_AsUTF8", KERNEL, needed=TORCH, rpath="$ORIGIN")}
    )
    given = str(torch(tmp_path))
    assert run(["inspect", str(path), "--linkage", "--torch", given]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert (
        "✗ _C.abi3.so: claims Python's stable ABI and uses PyUnicode_AsUTF8, outside of it" in out
    )
    assert "✗ _C.abi3.so: 1 C++ symbols that none of its libraries can define" in out
    assert "_C.abi3.so - - - no libtorch.so libc10.so $ORIGIN" in out
    assert run(["inspect", str(path), "--torch", given, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [each["kind"] for each in document["linkage"]["problems"]] == [
        "stable-abi",
        "not-compiled",
    ]
    assert document["objects"][0]["linkage"]["needed"] == list(TORCH)
    good = wheel(tmp_path, {"a.so": shared()})
    assert run(["inspect", str(good), "--linkage"]) == 0
    assert "nothing wrong found in how it is linked" in capsys.readouterr().out


OWNERS = {
    "_ZN3c106detail14torchCheckFailEPKcS2_jRKSs": "torch",
    "_ZNK2at10TensorBase4sizeEl": "torch",
    "_ZTVN5torch8autograd12AutogradMetaE": "torch",
    "_ZNR5torch7Library5_implEPKc": "torch",
    "aoti_torch_empty_strided": "torch",
    "_ZSt21ios_base_library_initv": "standard",
    "_ZNKRSt7__cxx1115basic_stringbufIcE3strEv": "standard",
    "_Znwm": "standard",
    "__cxa_throw": "standard",
    "PyLong_AsLong": "python",
    "_Py_Dealloc": "python",
    "_ZN4vllm3fooEN2at6TensorE": "c++",
    "_Z12paged_attnRN2at6TensorE": "c++",
    "cuTensorMapEncodeTiled": "c",
    "Pyramid": "c",
}


@pytest.mark.parametrize(("name", "owner"), OWNERS.items())
def test_whose_symbol_it_is(name: str, owner: str) -> None:
    assert owner_of(name) == owner


def test_stems() -> None:
    assert stem_of(ERROR_NEW) == stem_of(ERROR_OLD) == "_ZN3c105Error"
    assert stem_of("_ZNK2at10TensorBase4sizeEl") == "_ZNK2at10TensorBase4size"
    assert stem_of("_Z3fooi") == "_Z3foo"
    for none in ("", "memcpy", "_ZTVN3c105ErrorE", "_ZN", "_ZN99x", "_ZN3c10"):
        assert stem_of(none) == ""


@given(st.text(max_size=40) | st.from_regex(r"_ZN?[KRS0-9a-zE]{0,30}", fullmatch=True))
def test_any_name_has_an_owner_and_a_stem_that_it_begins_with(name: str) -> None:
    assert owner_of(name) in {"torch", "python", "standard", "c++", "c"}
    assert name.startswith(stem_of(name))


@given(
    st.lists(st.text(max_size=20) | st.from_regex(r"(GLIBC|GLIBCXX)_[0-9]{1,3}(\.[0-9]{1,3}){1,2}"))
)
def test_any_versions_and_libraries(texts: list[str]) -> None:
    assert set(newest_versions(texts)) <= {"GLIBC", "GLIBCXX", "CXXABI"}
    assert cuda_majors(texts) == ()


def test_policies_and_stable_abi() -> None:
    old = policy("manylinux2014_x86_64")
    assert old is not None
    assert (old.glibc, old.limits["GLIBCXX"]) == ("2.17", "3.4.19")
    unlisted = policy("manylinux_2_99_riscv64")
    assert unlisted is not None
    assert unlisted.limits == {"GLIBC": "2.99"}
    assert policy("linux_x86_64") is policy("any") is policy("manylinux1_sparc") is None
    assert stable_abi()["PyLong_AsLong"] == (3, 2)
    assert stable_abi()["PyObject_GetBuffer"] == (3, 11)
