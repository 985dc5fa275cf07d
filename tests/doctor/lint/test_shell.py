from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_doctor.lint.shell import ShellError, split
from dsv4_doctor.lint.shell_commands import commands

WORDS = st.lists(
    st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), min_size=1, max_size=12
    ),
    min_size=1,
    max_size=6,
)
SIGNS = st.lists(
    st.sampled_from([*"ab= \t\n'\"\\$(){}[]`#;&|<>-+@*?~!0", "EOF", "<<EOF\n", "${a:-b}", "x=("]),
    max_size=40,
).map("".join)


@given(WORDS)
def test_words_that_shlex_quotes_are_the_same_words(words: list[str]) -> None:
    (found,) = commands(f"run {shlex.join(words)}")
    assert [word.text for word in found.words] == ["run", *words]
    assert all(word.literal for word in found.words)


@given(WORDS)
def test_the_words_are_those_of_shlex(words: list[str]) -> None:
    text = " ".join(f'"{word}"' for word in words if not set(word) & set('"\\$`'))
    found = commands(f"run {text}")
    assert [word.text for each in found for word in each.words] == shlex.split(f"run {text}")


@given(SIGNS)
def test_any_text_is_read_or_refused_with_a_line(text: str) -> None:
    try:
        found = commands(text)
    except ShellError as error:
        refused = str(error)
    else:
        refused = ""
    assert refused == "" or refused.startswith("line ")
    if not refused:
        lines = text.count("\n") + 1
        assert all(1 <= word.line <= lines for each in found for word in each.words)


# What follows is given to a real shell, too.
SAME = (
    r"""show 'two three' "four $HOME_OF" """.replace(" $HOME_OF", ""),
    "show a\\\nb \\\n  c",
    r"""show x\ y "a\"b\\c\$d" '$d' e""",
    "A=1; B=$A; show $B ${A} ${C:-third} ${C-fourth}",
    'ARGS="--x 1 --y 2"; show $ARGS end',
    'ARGS="--x 1"; show "$ARGS" end',
    "show a # comment\nshow b#c",
    "show a 2>/dev/null b 2>&1 </dev/null; show a b",
    "show one && show two; show three | cat",
    'X=; show a $X b; show a "$X" b',
    "show seen <<END\nshow hidden\nEND\nshow after",
    "X=; show a$X'b'\"c\"",
    "if true; then show yes; fi; { show inner; }",
)


@pytest.mark.parametrize("text", SAME)
def test_a_shell_reads_it_the_same(text: str) -> None:
    show = 'show() { printf "%s\\0" "$@"; printf "\\n"; }\n'
    ran = subprocess.run(["sh", "-c", show + text], capture_output=True, text=True, check=True)
    printed = [line.split("\0")[:-1] for line in ran.stdout.splitlines()]
    read = [
        [word.text for word in each.words[1:]]
        for each in commands(text)
        if each.words[0].text == "show"
    ]
    assert read == printed


@pytest.mark.parametrize(
    "text",
    [
        """run "$(echo "it's")" b""",
        'run "${A:-it\'s}" b',
        "run `echo \\`date\\`` b",
        'run "usage: \\`x\\`" b',
        "run $(a 'x)' \"y)\" $(c)) b",
        'run ${A:-"}"} b',
    ],
)
def test_what_is_nested_ends_where_the_shell_ends_it(text: str) -> None:
    (found,) = commands(text)
    assert [found.words[0].text, found.words[-1].text, len(found.words)] == ["run", "b", 3]
    assert subprocess.run(["sh", "-n", "-c", text], check=False).returncode == 0


def test_what_is_nested_too_deep_is_refused() -> None:
    with pytest.raises(ShellError, match="nested too deep"):
        split('run "$(' * 5000)


def test_an_array_is_put_in_whole() -> None:
    text = 'ARGS=(--x "a b" --y)\nARGS+=(--z)\nrun "${ARGS[@]}" last'
    (found,) = commands(text)
    assert [word.text for word in found.words] == ["run", "--x", "a b", "--y", "--z", "last"]


def test_what_has_to_be_run_is_not_guessed() -> None:
    (found,) = commands('run $(nproc) `date` $UNSET "$@" ${A##*/} plain')
    assert [word.literal for word in found.words] == [True, False, False, False, False, False, True]
    assert found.words[1].shell() == "$(nproc)"


def test_exported_variables_reach_the_commands_after_them() -> None:
    text = "export A=1 B\nC=2\nD=3 run\nexport C\nunset A\nrun"
    first, second = commands(text)
    assert {each.name: each.value for each in first.environment} == {"A": "1", "D": "3"}
    assert {each.name: each.value for each in second.environment} == {"C": "2"}


def test_a_word_knows_its_line() -> None:
    (found,) = commands("\n# first\nrun \\\n  --a \\\n  --b")
    assert [word.line for word in found.words] == [3, 4, 5]


@pytest.mark.parametrize("text", ["run 'open", 'run\n"open', "run $(open", "run `open"])
def test_what_is_not_closed_is_named_with_its_line(text: str) -> None:
    with pytest.raises(ShellError, match=rf"line {text.count(chr(10)) + 1}: .* is not closed"):
        split(text)


def test_here_documents_are_kept() -> None:
    found = split("cat <<'EOF' | apply\na: $B\nEOF\ncat <<-X\n\tone\n\tX\n")
    assert [(each.text, each.line) for each in found.here] == [("a: $B\n", 2), ("\tone\n", 5)]
