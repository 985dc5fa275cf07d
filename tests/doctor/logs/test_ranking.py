"""Cause before consequence, units told apart, what was overcome, and the honest 'not known'."""

from __future__ import annotations

import io
import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsv4_doctor.knowledge import signature as known
from dsv4_doctor.logs.conclusion import Machine
from dsv4_doctor.logs.diagnosis import Diagnosis
from dsv4_doctor.logs.session import Session, diagnose
from dsv4_doctor.report import Command, Finding, Remedy

CEILING = (
    "/usr/local/cuda/include/crt/host_config.h:143:2: error: #error -- unsupported GNU version! "
    "gcc versions later than 13 are not supported!"
)
MEMORY = "c++: fatal error: Killed signal terminated program cc1plus"


def _of(*lines: str, machine: Machine | None = None) -> Diagnosis:
    return diagnose(io.BytesIO("\n".join(lines).encode() + b"\n"), "log", machine)


def _ids(found: Diagnosis) -> list[str]:
    return [each.id for each in found.causes]


def test_the_cause_is_above_the_traceback() -> None:
    found = _of(
        "Collecting things",
        CEILING,
        *(f"[{n}/900] Building CXX object a{n}.o" for n in range(400)),
        "ninja: build stopped: subcommand failed.",
        "subprocess.CalledProcessError: Command '['cmake']' returned non-zero exit status 1.",
        "ERROR: Failed building wheel for vllm",
    )
    assert _ids(found) == ["host.compiler.too-new"]
    assert found.causes[0].lines[0].number == 2
    assert [each.line for each in found.causes[0].followed] == [403, 404, 405]
    assert found.named


def test_parallel_units_are_told_apart() -> None:
    found = _of(
        "[1/9] Building CUDA object x.o",
        "FAILED: CMakeFiles/_C.dir/a.cu.o",
        MEMORY,
        "[2/9] Building CUDA object y.o",
        "FAILED: [code=1] CMakeFiles/_moe_C.dir/b.cu.o",
        "b.cu:3:10: fatal error: cute/tensor.hpp: No such file or directory",
        "ninja: build stopped: subcommand failed.",
    )
    assert _ids(found) == ["build.memory.killed", "build.cutlass.missing"]
    assert [each.units for each in found.causes] == [
        ("CMakeFiles/_C.dir/a.cu.o",),
        ("CMakeFiles/_moe_C.dir/b.cu.o",),
    ]


def test_an_error_of_the_same_unit_follows_and_of_another_does_not() -> None:
    float_type = '/usr/include/stdlib.h(141): error: identifier "_Float32" is undefined'
    first = ("FAILED: a.o", float_type, "a.cu(9): error: expected a declaration")
    assert _ids(_of(*first)) == ["host.compiler.float-types"]
    second = ("FAILED: b.o", "b.cu(9): error: no operator matches")
    assert _ids(_of(*first, *second)) == ["host.compiler.float-types"]
    memory = ("FAILED: a.o", MEMORY, *second)
    assert _ids(_of(*memory))[0] == "build.memory.killed"


def test_repetition_is_one_cause() -> None:
    found = _of(*(f'/usr/include/stdlib.h({n}): error: identifier "_Float{w}" is undefined'
                  for n in range(40) for w in (32, 64)))  # fmt: skip
    assert _ids(found) == ["host.compiler.float-types"]
    assert found.causes[0].count > 3
    assert len(found.causes[0].lines) == 3


def test_what_is_more_exact_explains_what_came_before() -> None:
    found = _of(
        "RuntimeError: CUDA error: mapping of buffer object failed",
        "NVRM: The peer DMA address 0x2a00400000 is not aligned at 0x40000000",
    )
    assert _ids(found) == ["devices.p2p.alignment"]
    assert [each.id for each in found.causes[0].followed] == ["devices.p2p.unsupported"]


def test_a_failure_that_was_overcome_is_no_cause() -> None:
    found = _of(CEILING, "Successfully built vllm")
    assert not found.named
    assert [each.id for each in found.overcome] == ["host.compiler.too-new"]
    stopped = _of(CEILING, "ninja: build stopped: subcommand failed.", "Successfully installed pip")
    assert _ids(stopped) == ["host.compiler.too-new"]


def test_a_log_that_ends_well_says_so() -> None:
    found = _of("Collecting x", "Successfully installed x-1.0", "[notice] A new release of pip")
    assert not found.named
    assert found.telling == ()
    assert found.success is not None
    assert found.success.line == 2
    assert _of("Successfully installed x-1.0", "ninja: build stopped: error").success is None


def test_a_success_of_another_step_overcomes_nothing() -> None:
    found = _of(f"#11 1.0 {CEILING}", "#12 2.0 Successfully installed cmake-4.0")
    assert _ids(found) == ["host.compiler.too-new"]
    assert found.causes[0].streams == ("#11",)


def test_a_warning_is_a_cause_only_when_something_failed_after_it() -> None:
    text = "Address already in use"
    warning = f"WARNING 03-01 10:00:00 [x.py:1] {text}. Retrying with a new port."
    failure = "RuntimeError: Engine core initialization failed. See root cause above."
    assert _of(text).causes[0].confidence == "high"
    assert [each.id for each in _of(warning).hints] == ["serving.port.in-use"]
    assert not _of(warning).named
    assert not _of(failure, warning).named
    assert _of(warning, failure).causes[0].confidence == "medium"
    assert _ids(_of(warning, CEILING, failure)) == ["host.compiler.too-new", "serving.port.in-use"]


def test_what_nccl_only_tells_is_no_cause() -> None:
    line = "h:1:9 [0] NCCL INFO NET/Plugin: dlerror=libnccl-net.so: cannot open shared object file"
    assert not _of(line, "INFO 03-01 10:00:00 [x.py:1] on").named


def test_not_known_is_said_with_the_lines_that_say_the_most() -> None:
    found = _of(
        "start", "Traceback (most recent call last):", "  File x", "ZeroDivisionError: division",
        "subprocess.CalledProcessError: Command 'x' returned non-zero exit status 1.",
    )  # fmt: skip
    assert not found.named
    assert [each.number for each in found.telling] == [4, 5]


def test_a_remark_is_told_beside_a_cause_and_alone() -> None:
    left_out = "-- FlashMLA will not compile: unsupported CUDA architecture 12.1a"
    for lines, named in (((left_out,), False), ((left_out, CEILING), True)):
        found = _of(*lines)
        assert found.named is named
        assert [each.id for each in found.remarks] == ["deepseek.extension.left-out"]
        assert "FlashMLA" in found.remarks[0].explanation


def test_a_hint_is_no_verdict() -> None:
    found = _of("Segmentation fault (core dumped)")
    assert not found.named
    assert [each.id for each in found.hints] == ["toolkit.segfault.seen"]
    both = _of("Segmentation fault (core dumped)", CEILING)
    assert (_ids(both), both.hints) == (["host.compiler.too-new"], ())


def test_the_end_of_a_log_tells_only_at_the_end() -> None:
    last = "(Worker_TP0 pid=1) INFO 03-01 10:00:00 [pynccl.py:70] vLLM is using nccl==2.28.3"
    assert [each.id for each in _of("a", last).hints] == ["devices.p2p.hang"]
    assert not _of(last, *["(Worker_TP0 pid=1) INFO 03-01 10:00:00 [m.py:1] on"] * 9).hints


def test_nothing_is_guessed_from_bytes_that_are_no_text() -> None:
    rubbish = "".join(chr(128 + n % 30) for n in range(60))
    found = _of(f"{rubbish} OOM {rubbish}", f"{rubbish} error: {rubbish}")
    assert found.hints == ()
    assert found.telling == ()
    assert [each.id for each in _of("step 3 ended: OOM").hints] == ["build.memory.mentioned"]


def test_noise_is_no_cause() -> None:
    found = _of("fatal: not a git repository (or any of the parent directories): .git")
    assert found.causes == ()
    assert found.hints == ()


def test_json_lines_and_colours_are_read_as_the_lines_within() -> None:
    line = "a.cu:1:10: \\u001b[31mfatal error:\\u001b[0m cute/x.hpp: No such file or directory"
    assert _ids(_of(f'{{"log":"{line}\\n","stream":"stderr"}}')) == ["build.cutlass.missing"]


def test_finding_of_the_machine_gives_the_remedy() -> None:
    remedy = Remedy("use the one that is here", (Command(env={"CXX": "g++-13"}),))
    finding = Finding(
        "host.compiler.ceiling", "fail", "gcc 14 is too new", found="gcc 14", remedy=remedy
    )
    other = Finding("driver.cuda.version", "fail", "another", remedy=Remedy("another"))
    cause = _of(CEILING, machine=Machine(None, (other, finding))).causes[0]
    assert cause.remedy == remedy
    assert cause.concrete
    assert [each.id for each in cause.known] == ["host.compiler.ceiling"]
    assert not _of(CEILING).causes[0].concrete
    passed = Finding("host.compiler.ceiling", "pass", "gcc 13 fits")
    now = _of(CEILING, machine=Machine(None, (passed,))).causes[0]
    assert [each.status for each in now.known] == ["pass"]
    assert not now.concrete


def test_facts_fill_words_and_commands() -> None:
    cause = _of(CEILING).causes[0]
    assert "up to 13" in cause.explanation
    assert cause.remedy is not None
    assert any("g++-13" in each.argv for each in cause.remedy.commands)
    clang = "error: #error -- unsupported clang version! clang version must be less than 20"
    other = _of(clang).causes[0]
    assert other.remedy is not None
    assert other.remedy.commands == ()
    driver = _of("The NVIDIA driver on your system is too old (found version 12040)").causes[0]
    assert driver.facts["cuda"] == "12.4"


@given(st.lists(st.sampled_from([e.text for s in known.signatures() for e in s.examples]),
                max_size=12))  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_any_mixture_is_diagnosed(texts: list[str]) -> None:
    found = _of(*texts)
    assert found.named == bool(found.causes)
    assert not (found.causes and found.telling)
    assert len(set(_ids(found))) == len(found.causes)


@pytest.mark.parametrize("family", known.FAMILIES)
def test_patterns_cannot_blow_up(family: str) -> None:
    generator = random.Random(family)
    patterns = [
        pattern
        for each in known.signatures()
        if each.family == family
        for pattern in (*each.patterns, *each.unless, *each.beside)
    ]
    literals = [text for each in known.signatures() for text in each.literals]
    # What drives a pattern with a hidden nested repetition to exponential time: long runs of what
    # its classes accept, and no end. A linear one takes milliseconds, even on a busy machine.
    started = time.process_time()
    for pattern in patterns:
        for run in ("a", " ", "/a", "0", "_", "a.", ": ", "("):
            pattern.search(generator.choice(literals) + run * (4000 // len(run)) + "!")
    assert time.process_time() - started < 20


def test_memory_of_a_session_is_bounded() -> None:
    session = Session("log")
    for turn in range(300):
        session.feed(f"Killed {turn}\nError 803: x {turn}\n".encode() * 50)
    session.flush()
    assert sum(1 for kept in session._hits.values() for _ in kept) <= 80 * len(session._hits)
