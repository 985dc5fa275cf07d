"""CMake's syntax, its conditions, and the walk."""

from __future__ import annotations

import contextlib
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_doctor.knowledge.extract.cmake_condition import Token, evaluate
from dsv4_doctor.knowledge.extract.cmake_state import Event
from dsv4_doctor.knowledge.extract.cmake_syntax import CMakeError, parse
from dsv4_doctor.knowledge.extract.cmake_walk import walk
from dsv4_doctor.knowledge.extract.nvcc import ranges, specifiers, walk_all
from dsv4_doctor.knowledge.extract.tree import SourceTree

PLAIN = st.text(string.ascii_letters + string.digits + "._/-+", min_size=1, max_size=8)


def texts(code: str) -> list[list[str]]:
    return [[each.name, *(a.text for a in each.arguments)] for each in parse(code)]


def tree(code: str, **others: str) -> SourceTree:
    files = {"CMakeLists.txt": code, **others}
    return SourceTree("x", "1", "", {name: text.encode() for name, text in files.items()})


def events(code: str, nvcc: str = "13.0.50", **others: str) -> list[Event]:
    found, problems = walk(tree(code, **others), nvcc, {})
    assert not problems
    return list(found)


def messages(code: str, nvcc: str = "13.0.50") -> list[str]:
    found = events(code, nvcc)
    return [" ".join(w.text for w in each.words) for each in found if each.name == "message"]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("SET(a b)", [["set", "a", "b"]]),
        ('set(a "b c;d" # why\n e)', [["set", "a", "b c;d", "e"]]),
        ("a()#[[ not\n b() ]]c()", [["a"], ["c"]]),
        ('a([==[ x ]=] "y ]==] z)', [["a", ' x ]=] "y ', "z"]]),
        ("if((A AND B) OR C)", [["if", "(", "A", "AND", "B", ")", "OR", "C"]]),
        (r'a("x\"y" b\;c)', [["a", 'x"y', "b;c"]]),
        ('a(-D"x y")', [["a", '-D"x y"']]),
        ("", []),
    ],
)
def test_commands(code: str, expected: list[list[str]]) -> None:
    assert texts(code) == expected


@pytest.mark.parametrize("code", ["a(", "a", "a b", "(", 'a("x)', "a([[x)", "a(b))"])
def test_what_is_no_cmake_is_said_with_its_line(code: str) -> None:
    with pytest.raises(CMakeError, match="line 2: "):
        parse("\n" + code)


@given(st.lists(st.tuples(PLAIN.filter(str.isalpha), st.lists(PLAIN, max_size=4)), max_size=5))
def test_written_commands_are_read_back(commands: list[tuple[str, list[str]]]) -> None:
    code = "\n".join(f"{name}({' '.join(arguments)})" for name, arguments in commands)
    found = parse(code)
    assert texts(code) == [[name.lower(), *arguments] for name, arguments in commands]
    assert [each.line for each in found] == list(range(1, len(commands) + 1))


@given(st.text(alphabet=string.printable, max_size=60))
def test_any_text_is_read_or_refused(code: str) -> None:
    with contextlib.suppress(CMakeError):
        assert all(each.line >= 1 for each in parse(code))


VARIABLES: dict[str, str | None] = {"V": "12.9.50", "ON1": "ON", "EMPTY": "", "SECRET": None}


def decide(text: str) -> bool | None:
    tokens = [Token(part.strip('"'), 1, quoted=part.startswith('"')) for part in text.split()]
    return evaluate(tokens, lambda name: (name in VARIABLES, VARIABLES.get(name)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("V VERSION_GREATER_EQUAL 12.9", True),
        ("V VERSION_LESS 12.9", False),
        ("V VERSION_GREATER 12.9", True),
        ("12.9 VERSION_EQUAL 12.9.0", True),
        ("NOT V VERSION_LESS 12.10", False),
        ('"a" STREQUAL "a"', True),
        ("UNSET STREQUAL a", None),
        ("EMPTY", False),
        ("ON1 AND NOT EMPTY", True),
        ("SECRET AND EMPTY", False),
        ("SECRET OR ON1", True),
        ("SECRET OR EMPTY", None),
        ("DEFINED V", True),
        ("DEFINED ENV{X}", None),
        ("EXISTS x OR ON1", True),
        ("( ON1 OR SECRET ) AND EMPTY", False),
        ("a IN_LIST SECRET", None),
        ("x-NOTFOUND", False),
    ],
)
def test_conditions(text: str, expected: bool | None) -> None:
    assert decide(text) is expected


@pytest.mark.parametrize("text", ["", "NOT", "( ON1", "ON1 ON1", "V STREQUAL"])
def test_a_condition_that_is_none(text: str) -> None:
    with pytest.raises(CMakeError):
        decide(text)


TRIAL = st.recursive(
    st.sampled_from(["ON1", "EMPTY", "SECRET"]),
    lambda inner: st.one_of(
        inner.map(lambda each: f"NOT ( {each} )"),
        st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(
            lambda each: f"( {each[0]} {each[1]} {each[2]} )"
        ),
    ),
    max_leaves=6,
)


@given(TRIAL)
def test_what_is_decided_holds_whatever_the_unknown_is(text: str) -> None:
    value = decide(text)
    if value is not None:
        assert decide(text.replace("SECRET", "ON1")) is value
        assert decide(text.replace("SECRET", "EMPTY")) is value


@given(TRIAL)
def test_a_walk_takes_exactly_the_branches_that_can_run(text: str) -> None:
    code = f"set(ON1 ON)\nset(EMPTY)\nif({text})\nmessage(yes)\nelse()\nmessage(no)\nendif()"
    expected = {True: ["yes"], False: ["no"], None: ["yes", "no"]}
    assert messages(code) == expected[decide(text)]


def test_what_an_undecided_branch_sets_is_not_known_after_it() -> None:
    code = """
        set(A 1)
        if(SOMETHING)
          set(A 2)
          message(${A})
        endif()
        message(${A})
    """
    assert messages(code) == ["2", "${A}"]


def test_a_list_that_may_grow_is_still_known_and_conditions_are_carried() -> None:
    code = """
        set(A 1)
        if(SOMETHING)
          list(APPEND A 2)
        elseif(V)
          message(b)
        endif()
        message(${A})
    """
    inner, last = (each for each in events(code) if each.name == "message")
    assert [word.text for word in last.words] == ["1", "2"]
    assert not inner.certain
    assert [each.text for each in inner.conditions] == ["NOT (SOMETHING)", "V"]
    assert last.certain


def test_functions_are_not_run_loops_are_and_a_return_ends_the_file() -> None:
    code = """
        function(f)
          message(never)
        endfunction()
        foreach(x a b)
          message(${x})
        endforeach()
        if(VLLM_TARGET_DEVICE STREQUAL "cuda")
          return()
        endif()
        message(never)
    """
    assert messages(code) == ["a", "b"]


def test_a_value_keeps_the_place_where_it_was_written() -> None:
    found = events("set(T v1)\ninclude(x.cmake)", **{"x.cmake": "\n\nmessage(${T})"})
    (word,) = next(each for each in found if each.name == "message").words
    assert (word.text, word.file, word.line) == ("v1", "CMakeLists.txt", 1)


def test_a_command_that_is_not_known_makes_what_it_names_unknown() -> None:
    assert messages("set(A 1)\nstring(TOUPPER x A)\nmessage(${A})") == ["${A}"]
    assert messages("set(A 1)\nlist(LENGTH A N)\nmessage(${A})") == ["1"]


def test_a_file_that_includes_itself_or_is_broken_is_a_problem() -> None:
    assert walk(tree("include(CMakeLists.txt)"), "13.0", {})[1]
    assert walk(tree("include(a.cmake)", **{"a.cmake": "x("}), "13.0", {})[1]
    assert walk(tree("if(A)"), "13.0", {})[1]


def test_a_walk_for_every_range_of_compilers() -> None:
    code = """
        if(${CMAKE_CUDA_COMPILER_VERSION} VERSION_GREATER 12.8)
          message(a)
        endif()
        if(NOT CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.0)
          message(b)
        endif()
    """
    walks = walk_all(tree(code))
    held = {
        text: specifiers(
            walks.ranges,
            [
                each
                for each, found in walks.events.items()
                if any(word.text == text for event in found for word in event.words)
            ],
        )
        for text in "ab"
    }
    # nvcc 12.8 is 12.8.61 or 12.8.93: a strict comparison lets it pass.
    assert held == {"a": (">=12.8",), "b": ("<12.0",)}
    assert any(event.name == "message" for event in walks.at("12.9"))
    assert not any(event.name == "message" for event in walks.at("12.3"))


@given(st.sets(st.sampled_from(["11.8", "12.0", "12.3", "12.8", "13.0"])), st.data())
def test_ranges_cover_everything_once(versions: set[str], data: st.DataObject) -> None:
    found = ranges(versions)
    assert len(found) == len(versions) + 1
    chosen = data.draw(st.sets(st.sampled_from(found)))
    runs = specifiers(found, chosen)
    assert sum(each.sample is not None for each in chosen) >= len(runs)
    if chosen == set(found):
        assert runs == ("",)
