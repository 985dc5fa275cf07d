"""A canary with a real ninja, and the smoke tree with a unit that is broken on purpose."""

from __future__ import annotations

import shutil
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_build import canary, canary_ninja, engine, recipe
from dsv4_build.ninja import Unit, parse_targets
from dsv4_build.progress import Progress
from dsv4_build.request import BuildRequest
from dsv4_doctor.cli.building import preflight, take_facts
from dsv4_doctor.errors import BuildError

NINJA = str(Path(sys.executable).with_name("ninja"))


def unit(component: str, source: str) -> Unit:
    return Unit(f"CMakeFiles/{component}.dir/{source}.o", component, source)


def test_the_quickest_of_each_family_component_and_language_is_taken() -> None:
    quick, slow = (
        unit("_vllm_fa3_C", f"hopper/instantiations/flash_fwd_hdim{size}_sm90.cu")
        for size in ("64_bf16_softcap", "256_e4m3_softcap_packgqa")
    )
    others = [unit("_C", "csrc/marlin/a.cu"), unit("_C", "csrc/torch_bindings.cpp")]
    moe = [unit("_moe_C", "csrc/moe/marlin_moe_wna16/a.cu")]
    chosen = canary.choose([slow, *others, quick, *moe])
    assert set(chosen) == {each.object for each in (quick, *others, *moe)}
    assert chosen[-1] == others[1].object


@given(st.lists(st.tuples(st.sampled_from("AB"), st.sampled_from(["a.cu", "b.cu", "c.cpp"]))))
def test_every_component_has_one_and_the_order_does_not_matter(
    pairs: list[tuple[str, str]],
) -> None:
    units = [unit(*each) for each in pairs]
    chosen = canary.choose(units)
    assert set(chosen) <= {each.object for each in units}
    assert chosen == canary.choose(reversed(units))
    assert {each.component for each in units} == {
        found.component for found in units if found.object in chosen
    }


def tree(directory: Path, broken: str = "") -> list[str]:
    """A tree as CMake configures it, of units that are copied rather than compiled."""
    units = [unit("_C", "a.cu"), unit("_C", "b.cu"), unit("_D", "c.cu"), unit("_D", "d.cpp")]
    lines = ["rule cc", "  command = echo $out >> log && $cc $out"]
    for each in units:
        command = "false" if each.source == broken else "touch"
        lines += [f"build {each.object}: cc", f"  cc = {command}"]
    objects = " ".join(each.object for each in units)
    lines += ["rule link", "  command = cat $in > $out", f"build all.so: link {objects}"]
    lines += ["build _C: phony all.so", "build _D: phony all.so"]
    directory.mkdir(parents=True)
    (directory / "build.ninja").write_text("\n".join(lines) + "\n")
    return [each.object for each in units]


def call(work: Path, build: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    link = work / "tools" / "ninja"
    link.parent.mkdir(parents=True, exist_ok=True)
    canary.install(link, NINJA)
    return subprocess.run(
        [str(link), *arguments], cwd=build, capture_output=True, text=True, check=False
    )


def test_it_comes_before_the_others_and_nothing_is_made_twice(tmp_path: Path) -> None:
    objects = tree(tmp_path / "build")
    done = call(tmp_path, tmp_path / "build", "-j2", "_C", "_D")
    assert done.returncode == 0, done.stderr
    made = (tmp_path / "build" / "log").read_text().split()
    assert sorted(made) == sorted(objects)
    known = canary.read(tmp_path)
    assert known is not None
    assert set(made[:3]) == set(known.units)
    assert "3 units, one of each family" in known.text
    again = call(tmp_path, tmp_path / "build", "-j2", "_C", "_D")
    assert "come first" not in again.stdout


def test_what_does_not_compile_ends_it_before_the_others(tmp_path: Path) -> None:
    objects = tree(tmp_path / "build", broken="c.cu")
    done = call(tmp_path, tmp_path / "build", "_C", "_D")
    assert done.returncode != 0
    assert objects[1] not in (tmp_path / "build" / "log").read_text()
    error = canary.explained(BuildError("ninja failed", hint="do"), tmp_path)
    assert str(error).startswith("canary: 1 of 3 families do not compile")
    assert "other (_D:c.cu)" in str(error)
    assert str(error).endswith("\nninja failed")
    assert error.hint == "do"


@pytest.mark.parametrize(
    ("arguments", "directory"),
    [
        (["--version"], "build"),
        (["-t", "targets"], "build"),
        (["-tclean"], "build"),
        ([], "build/CMakeFiles/CMakeScratch/TryCompile-x"),
        ([], "elsewhere"),
    ],
)
def test_calls_that_build_no_tree_go_through(
    tmp_path: Path, arguments: list[str], directory: str
) -> None:
    tree(tmp_path / "build")
    if "Scratch" in directory:
        tree(tmp_path / directory)
    assert not canary_ninja.is_build(arguments, tmp_path / directory)


def test_arguments_of_ninja_are_read() -> None:
    assert canary_ninja.directory_of(["-C", "/a", "all"]) == Path("/a")
    assert canary_ninja.directory_of(["all"]) == Path.cwd()
    assert canary_ninja.jobs_of(["-C", "a", "-j", "3", "x"]) == ["-j", "3"]
    assert canary_ninja.jobs_of(["-j15"]) == ["-j15"]
    assert canary_ninja.jobs_of(["all"]) == []


def test_without_a_canary_an_error_stays_as_it_is(tmp_path: Path) -> None:
    error = BuildError("ninja failed")
    assert canary.explained(error, tmp_path) is error
    (tmp_path / canary.STATE).write_text("torn")
    assert canary.explained(error, tmp_path) is error
    canary.write(canary.Canary(("a",), ()), tmp_path)
    assert canary.explained(error, tmp_path) is error


@pytest.fixture
def broken_smoke(real_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The smoke tree with a Hopper kernel that does not compile."""
    recipes = tmp_path / "recipes"
    shutil.copytree(recipe.tree("smoke").parent, recipes)
    kernel = recipes / "smoke" / "csrc" / "hopper" / "flash_fwd_sm90.cu"
    kernel.write_text(kernel.read_text() + "\nint broken = wobble;\n")
    monkeypatch.setattr(recipe, "_DIRECTORY", recipes)
    return tmp_path / "work"


@pytest.mark.real
@pytest.mark.parametrize("only", [(), ("paged_attention_v2.cu", "fa3")])
def test_a_broken_unit_of_the_smoke_tree_is_told(broken_smoke: Path, only: tuple[str, ...]) -> None:
    request = BuildRequest(
        ("sm_90",),
        broken_smoke.parent / "out",
        recipe="smoke",
        work_dir=broken_smoke,
        only=only,
        cache="off",
        canary=True,
        jobs=1,
    )
    with pytest.raises(BuildError) as caught:
        engine.build(request, take_facts(request), preflight, progress=Progress(StringIO()))
    message = str(caught.value)
    assert message.startswith("canary: 1 of 2 families do not compile, and the rest was not begun")
    assert "_fa3_C:csrc/hopper/flash_fwd_sm90.cu" in message
    assert 'identifier "wobble" is undefined' in message
    assert not list(broken_smoke.rglob("*.abi3.so"))
    assert not request.out.exists()


def test_targets_of_another_form_give_no_canary() -> None:
    assert canary.choose(parse_targets("all: phony\n").units) == ()
