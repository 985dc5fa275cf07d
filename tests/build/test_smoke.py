"""The smoke tree with a real nvcc: built, proved, the same bytes twice, and safe to interrupt."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import sysconfig
import time
import zipfile
from pathlib import Path

import pytest
from tests.build.conftest import CommandLine, command

from dsv4_build import leftovers, proof, recipe
from dsv4_build.engine import Built
from dsv4_build.handover import sums
from dsv4_build.publish import REPORT, sha256
from dsv4_build.reporting.keep import PAGE
from dsv4_build.work import JOURNAL
from dsv4_doctor.binary.inspection import Options, inspect_path
from dsv4_doctor.binary.requirements import decide, parse_requirements
from dsv4_doctor.errors import BuildError
from dsv4_doctor.process import run

pytestmark = pytest.mark.real


def _wheel(directory: Path) -> Path:
    (wheel,) = directory.glob("*.whl")
    return wheel


def test_the_command_builds_a_proved_wheel(smoke_command: tuple[CommandLine, Path]) -> None:
    done, out = smoke_command
    assert done.status == 0, done.stderr
    wheel = _wheel(out)
    assert str(wheel) in done.stdout
    assert sha256(wheel) in done.stdout
    assert "proved  fa3" in done.stdout
    assert [line.split()[0] for line in done.stderr.splitlines() if line[0] != " "] == [
        "plan",
        "preflight",
        "source",
        "toolchain",
        "compile",
        "wheel",
        "proof",
    ]


def test_one_unit_of_each_family_was_compiled_first_and_once(
    smoke_command: tuple[CommandLine, Path], real_cache: Path
) -> None:
    done, _ = smoke_command
    assert "canary: 2 units, one of each family, were compiled first" in done.stderr


def test_the_requirement_of_the_project_is_decided_from_the_bytes(
    smoke_command: tuple[CommandLine, Path],
) -> None:
    wanted = parse_requirements(["fa3,paged-v2,sm_90a"])
    found = inspect_path(_wheel(smoke_command[1]), Options(kernels=True))
    assert [each.status for each in decide(found, wanted)] == ["present"] * 3
    assert {each.name: each.sass for each in found.objects} == {
        "dsv4_smoke/_C.abi3.so": ("sm_90",),
        "dsv4_smoke/_fa3_C.abi3.so": ("sm_90a",),
    }


def test_a_build_that_was_killed_goes_on_to_the_same_bytes(
    smoke_command: tuple[CommandLine, Path], smoke_again: Built
) -> None:
    artifact, provenance = smoke_again.artifacts
    assert provenance.name == f"{artifact.name}.provenance.json"
    assert sha256(_wheel(smoke_command[1])) == artifact.sha256
    assert smoke_again.kept == ()


def test_the_journal_has_every_step_with_its_key(smoke_again: Built) -> None:
    lines = list(map(json.loads, Path(smoke_again.plan.work, JOURNAL).read_text().splitlines()))
    begins = [each["step"] for each in lines if each["event"] == "begin"]
    assert begins[:3] == begins[3:6] == ["source", "toolchain", "compile"]
    ends = [each for each in lines if each["event"] == "end"]
    assert [entry["outcome"] for entry in ends] == ["done"] * 7
    assert [(each["step"], each["key"]) for each in ends[2:]] == [
        (step.name, step.key) for step in smoke_again.plan.steps
    ]
    assert smoke_again.usage["compile"][0].cpu_seconds > 0


def test_a_finished_build_is_handed_over_again(
    smoke_again: Built, real_cache: Path, tmp_path: Path
) -> None:
    arguments = ("build", "--recipe", "smoke", "--arch", "sm_90", "--format", "json")
    done = command(*arguments, "--out", str(tmp_path / "out"))
    assert done.status == 0, done.stderr
    assert "kept" in done.stderr
    again = json.loads(done.stdout)
    assert again["kept"] == ["proof"]
    assert again["proof"] == json.loads(json.dumps(smoke_again.proof.to_json()))
    assert again["artifacts"][0]["sha256"] == smoke_again.artifacts[0].sha256
    assert sha256(_wheel(tmp_path / "out")) == smoke_again.artifacts[0].sha256
    # What only the way there needed is gone; result, proof, reports and log are not.
    left = {each.name for each in Path(smoke_again.plan.work).iterdir()}
    logs = {"build.log", "build.previous.log", "schedule.jsonl", "schedule-costs.json", JOURNAL}
    assert left == {"result", "proof.json", REPORT, PAGE, "tools", *logs}


def test_a_proof_that_fails_keeps_the_result_back(smoke_again: Built, tmp_path: Path) -> None:
    plan = smoke_again.plan
    wanting = type(plan)(
        **{**vars(plan), "scope": type(plan.scope)(**{**vars(plan.scope), "require": ("fa2",)})}
    )
    result = Path(plan.work) / "result"
    with pytest.raises(BuildError, match="fa2: missing") as caught:
        proof.prove(wanting, result)
    assert str(result) in caught.value.hint


def test_parts_come_from_the_fetched_toolkit(smoke_parts: Built, real_cache: Path) -> None:
    assert smoke_parts.plan.choices.toolchain.kind == "pypi"
    out = real_cache / "parts"
    names = sorted(str(each.relative_to(out)) for each in out.rglob("*") if each.is_file())
    built = ["_C/csrc/attention/paged_attention_v2.cu.o", "_fa3_C.abi3.so"]
    assert names == sorted([*built, REPORT, sums.NAME])
    report = json.loads((out / REPORT).read_text())
    statuses = {
        each["requirement"]: each["status"] for each in report["result"]["proof"]["decisions"]
    }
    assert statuses == dict.fromkeys(("paged-v2", "fa3", "sm_90", "sm_90a"), "present")


def test_an_installed_ccache_stands_before_nvcc(smoke_parts: Built) -> None:
    if smoke_parts.plan.cache.kind == "off":
        pytest.skip("ccache is not installed")
    assert smoke_parts.cache is not None
    assert (smoke_parts.cache.hits, smoke_parts.cache.misses) == (0, 2)


def test_a_shared_cache_is_reached_and_its_password_is_nowhere(
    smoke_parts: Built, real_cache: Path
) -> None:
    if smoke_parts.plan.cache.remote is None:
        pytest.skip("ccache or Redis is not installed")
    assert smoke_parts.cache is not None
    assert smoke_parts.cache.remote_errors == 0
    assert not smoke_parts.plan.isolation.isolated
    places = [real_cache / "parts", real_cache / "parts-report", Path(smoke_parts.plan.work)]
    files = [each for place in places for each in place.rglob("*") if each.is_file()]
    assert {each.name for each in files} > {REPORT, PAGE, "build.log", JOURNAL}
    assert not [each for each in files if b"hunter2" in each.read_bytes()]
    assert "hunter2" not in json.dumps(smoke_parts.to_json())


def test_the_fetched_toolkit_is_of_one_release(smoke_parts: Built) -> None:
    root = Path(smoke_parts.plan.choices.toolchain.root)
    for program in ("nvcc", "ptxas", "cudafe++"):
        done = run([str(root / "bin" / program), "--version"])
        assert "V13.0.88" in done.stdout + done.stderr
    assert (root / "lib64" / "stubs" / "libcuda.so").is_file()


def test_plain_sm_90_does_not_assemble_the_hopper_kernel(
    smoke_parts: Built, tmp_path: Path
) -> None:
    source = recipe.tree("smoke") / "csrc" / "hopper" / "flash_fwd_sm90.cu"
    choices = smoke_parts.plan.choices
    nvcc = [f"{choices.toolchain.root}/bin/nvcc", "-ccbin", choices.compiler.cxx, "-std=c++17"]
    include = ["-I", sysconfig.get_path("include")]
    output = ["-arch=sm_90", "-cubin", "-o", str(tmp_path / "x.cubin")]
    done = run([*nvcc, *include, *output, str(source)], limit=60)
    assert not done.ok
    assert "not supported on .target 'sm_90'" in done.stderr


def test_the_modules_load_without_a_gpu_and_compute_with_one(
    smoke_command: tuple[CommandLine, Path], tmp_path: Path
) -> None:
    with zipfile.ZipFile(_wheel(smoke_command[1])) as archive:
        archive.extractall(tmp_path)
    (tmp_path / "use.py").write_text(_USE)
    done = subprocess.run(
        [sys.executable, "use.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    values = json.loads(done.stdout)
    for answer in values["attention"]:
        assert answer == values["expected"] or "CUDA" in answer
    assert values["refused"] == ["ValueError", "ValueError"]


# One query, and keys that are all alike: attention is then the mean of the values, whatever the
# softmax. Without a GPU the modules say so.
_USE = """
import array, json
from dsv4_smoke import _C, _fa3_C

def answer(function, *arguments):
    try:
        floats = array.array("f", function(*arguments))
    except RuntimeError as error:
        return str(error)
    return [round(value, 3) for value in floats[:4]]

def refusal(function, *arguments):
    try:
        function(*arguments)
    except Exception as error:
        return type(error).__name__

rows = [[float(row)] * 64 for row in range(16)]
ones = array.array("f", [1.0] * 64).tobytes()
values = array.array("f", sum(rows, [])).tobytes()
tables, lens = array.array("i", [0]).tobytes(), array.array("i", [16]).tobytes()
paged = (ones, ones * 16, values, tables, lens, 1, 1, 1, 1, 1, 0.125)
half = b"\\x00\\x3c" * 64  # 1.0 as float16
import struct
halves = b"".join(struct.pack("<e", value) * 64 for value in range(16))
print(json.dumps({
    "attention": [
        answer(_C.paged_attention_v2, *paged),
        answer(_fa3_C.fwd, half, half * 16, halves, 1, 1, 16, 0.125, 0),
    ],
    "expected": [7.5] * 4,
    "refused": [
        refusal(_C.paged_attention_v2, b"", *paged[1:]),
        refusal(_fa3_C.fwd, half, half, half, 1, 2, 1, 0.125, 0),
    ],
}))
"""


def test_ctrl_c_leaves_no_output_and_no_compiler(real_cache: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    argv = [sys.executable, "-m", "dsv4_doctor", "build", "--recipe", "smoke", "--arch", "sm_80"]
    child = subprocess.Popen(
        [*argv, "--out", str(out)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stderr is not None
    for line in child.stderr:
        if line.startswith("compile"):
            break
    # Once the log has a line, the build backend is running.
    (work,) = [each for each in (real_cache / "dsv4-doctor" / "work").iterdir() if _half(each)]
    for _ in range(200):
        if (work / "build.log").is_file():
            break
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 130, err
    assert not out.exists()
    last = json.loads((work / JOURNAL).read_text().splitlines()[-1])
    assert (last["event"], last["step"], last["outcome"]) == ("end", "compile", "interrupted")
    assert not leftovers.running(work)


def test_a_disk_that_was_full_lets_the_build_go_on_to_the_same_bytes(
    smoke_command: tuple[CommandLine, Path], tmp_path: Path
) -> None:
    disk, out = tmp_path / "disk", tmp_path / "out"
    disk.mkdir()
    argv = [sys.executable, "-m", "dsv4_doctor", "build", "--recipe", "smoke", "--arch", "sm_90"]
    argv += ["--force", "build.room.disk"]  # Which would be said before anything is begun.
    build = shlex.join([*argv, "--work-dir", str(disk / "work"), "--out", str(out)])
    script = f"""
        mount -t tmpfs -o size=3m none {disk} || exit 77
        {build}; echo "first $?"
        mount -o remount,size=1g {disk}
        {build}; echo "second $?"
    """
    # Nobody needs to be root to mount a small disk in a namespace.
    namespace = ["unshare", "--user", "--map-root-user", "--mount"]
    done = subprocess.run(
        [*namespace, "sh", "-c", script], capture_output=True, text=True, check=False
    )
    if "first" not in done.stdout:
        pytest.skip(f"no namespace to mount a small disk in: {done.stderr}")
    assert "first 1\n" in done.stdout, done.stdout + done.stderr
    assert "a disk is full" in done.stderr
    assert "second 0\n" in done.stdout, done.stdout + done.stderr
    assert sha256(_wheel(out)) == sha256(_wheel(smoke_command[1]))


def _half(work: Path) -> bool:
    """Whether the build there has begun its third step and no other."""
    return (work / JOURNAL).is_file() and (work / JOURNAL).read_text().count('"begin"') == 3


def test_a_missing_feature_is_said_before_anything_is_built(real_cache: Path) -> None:
    done = command("build", "--recipe", "smoke", "--arch", "sm_80", "--require", "fa3")
    assert done.status == 2
    assert "code for sm_90a, not for sm_80" in done.stderr
    assert done.stdout == ""


def test_the_plan_is_shown_and_nothing_is_done(real_cache: Path) -> None:
    arguments = ("build", "--recipe", "smoke", "--arch", "sm_89", "--plan", "--format", "json")
    done = command(*arguments)
    assert done.status == 0, done.stderr
    plan = json.loads(done.stdout)
    assert plan["archs"] == ["sm_89"]
    assert not Path(plan["work"]).exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--offline", "--arch", "sm_90"), "sources pull --vllm 0.24.0"),
        (("--recipe", "smok"), "known: smoke"),
        (("--vllm", "0.24.0"), "no architecture to build for"),
        (("--recipe", "smoke", "--arch", "sm_91"), "unknown architecture"),
        (("--recipe", "smoke", "--arch", "sm_90", "--require", "fa9"), "unknown feature"),
        (("--recipe", "smoke", "--arch", "sm_90", "--only", "nothing"), "no source file"),
    ],
)
def test_a_wrong_command_line_says_what_is_right(
    real_cache: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = command("build", *arguments)
    assert done.status == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
