"""Finding candidates: every line with a literal, whatever the pieces, with its number."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from dsv4_doctor.knowledge import signature as known
from dsv4_doctor.logs.scan import REACH, REPEATED, STORM, Candidate, Scanner, opened

GATES = (b"rror", b"not ")
LITERALS = (b"rror 803", b"could not find", b"Killed", b"rror 804")


def _scan(*pieces: bytes) -> list[Candidate]:
    scanner = Scanner(opened(GATES, LITERALS), ())
    found = [each for piece in pieces for each in scanner.feed(piece)]
    return [*found, *scanner.flush()]


LINES = st.lists(
    st.sampled_from(
        [b"", b"fine", b"Error 803: x", b"could not find it", b"Killed", b"Error 80", b"not me"]
    ),
    max_size=60,
)


@given(LINES, st.lists(st.integers(0, 2000), max_size=5))
@settings(deadline=None)
def test_every_line_with_a_literal_is_found_once(lines: list[bytes], cuts: list[int]) -> None:
    text = b"\n".join(lines)
    at = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    pieces = [text[start:end] for start, end in pairwise(at)]
    expected = [
        (number, line)
        for number, line in enumerate(lines, 1)
        if any(literal in line for literal in LITERALS)
    ]
    assert [(each.number, each.line) for each in _scan(*pieces) if each.literals] == expected


def test_digits_do_not_hide_another_error() -> None:
    found = _scan(b"Error 804\n" * 10 + b"Error 803\n")
    assert found[-1].literals == (b"rror 803",)


def test_lines_around_are_given_over_pieces() -> None:
    filler = b"".join(b"before %d\n" % n for n in range(3000))
    found = _scan(filler, b"Killed\nafter 1\n", b"after 2\n", filler)
    assert [each.line for each in found] == [b"Killed"]
    assert found[0].number == 3001
    assert found[0].before[-1] == b"before 2999"
    assert found[0].after[:2] == (b"after 1", b"after 2")


def test_one_huge_line_is_searched_in_pieces() -> None:
    scanner = Scanner(opened(GATES, LITERALS), ())
    found: list[Candidate] = []
    for piece in [b"x" * (1 << 20)] * 4 + [b"y" * 500 + b"Killed" + b"z" * (1 << 20)] * 1:
        found += scanner.feed(piece)
    found += scanner.flush()
    assert scanner.long_lines
    assert [each.number for each in found] == [1]
    assert len(found[0].line) <= 2 * REACH


def test_a_line_that_repeats_is_looked_at_some_times_only() -> None:
    found: list[Candidate] = []
    scanner = Scanner(opened(GATES, LITERALS), ())
    for _ in range(REPEATED * 3):
        found += scanner.feed(b"fine\n" * 2000 + b"Killed\n")
    assert len(found) <= REPEATED + 1
    assert scanner.lines > 2000


def test_a_storm_is_said_and_bounded() -> None:
    scanner = Scanner(opened(GATES, LITERALS), ())
    words = ["".join(chr(97 + n // 26**k % 26) for k in range(4)) for n in range(4 * STORM)]
    count = 0
    for start in range(0, len(words), 4000):
        text = "".join(f"Killed {word}\n" for word in words[start : start + 4000])
        count += sum(1 for _ in scanner.feed(text.encode()))
    assert scanner.storm
    assert STORM < count < 1.5 * STORM


def test_every_literal_has_a_gate_and_gates_have_no_digits() -> None:
    literals = [
        literal.encode()
        for each in known.signatures()
        if not each.at_end
        for literal in each.literals
    ]
    gates = opened([each.encode() for each in known.gates()], literals)
    assert all(len(gate) >= 2 for gate in gates)
    assert not any(chr(byte).isdigit() for gate in gates for byte in gate)
    assert {literal for pairs in gates.values() for literal, _ in pairs} == set(literals)


@given(st.binary(max_size=3000), st.integers(1, 500))
@settings(max_examples=60, deadline=None)
def test_any_bytes_are_scanned(data: bytes, size: int) -> None:
    found = _scan(*(data[at : at + size] for at in range(0, len(data), size)))
    assert all(1 <= each.number <= data.count(b"\n") + 1 for each in found)


def test_tail_has_numbers() -> None:
    scanner = Scanner(opened(GATES, LITERALS), ())
    list(scanner.feed(b"a\nb\n\nc"))
    list(scanner.flush())
    assert [(each.number, each.line) for each in scanner.tail(2)] == [(2, b"b"), (4, b"c")]
