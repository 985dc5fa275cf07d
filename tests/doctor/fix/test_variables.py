"""The file of variables: what is in it holds in the shell that sources it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from dsv4_doctor.fix.variables import merged, place
from dsv4_doctor.report import Command

values = st.text(
    alphabet=st.characters(min_codepoint=32, max_codepoint=126, exclude_characters="$"), max_size=9
)


def sourced(content: str, *names: str) -> list[str]:
    shown = "\n".join(f'printf "%s\\n" "${{{name}-UNSET}}"' for name in names)
    done = subprocess.run(
        ["sh", "-c", f"{content}\n{shown}"],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "/bin", "OLD": "old"},
    )
    return done.stdout.split("\n")[:-1]


def test_setting_and_unsetting() -> None:
    content = merged(None, [Command(env={"A": "1", "B": "x y"}), Command(unset=("OLD",))])
    assert sourced(content, "A", "B", "OLD") == ["1", "x y", "UNSET"]


def test_the_last_word_on_a_variable_holds_and_stands_once() -> None:
    first = merged(None, [Command(env={"A": "1"}), Command(unset=("B",))])
    again = merged(first, [Command(env={"A": "2", "B": "3"})])
    assert sourced(again, "A", "B") == ["2", "3"]
    assert again.count(" A=") == 1
    assert "unset" not in again


def test_what_builds_on_itself_is_kept_and_not_doubled() -> None:
    one = Command(env={"PATH": "/1:$PATH"})
    content = merged(None, [one, Command(env={"PATH": "/2:$PATH"}), one])
    assert sourced(content, "PATH") == ["/1:/2:/bin"]


def test_lines_of_the_user_stay() -> None:
    content = merged("# mine\nexport MINE=1 # why\n", [Command(env={"A": "1"})])
    assert content == "# mine\nexport MINE=1 # why\nexport A=1\n"


def test_the_place_follows_xdg() -> None:
    assert place({"XDG_CONFIG_HOME": "/c"}) == Path("/c/dsv4-doctor/env.sh")
    assert place({}) == Path.home() / ".config/dsv4-doctor/env.sh"


@given(st.lists(st.dictionaries(st.sampled_from(["A", "B"]), values), max_size=4))
def test_the_last_value_of_each_reaches_the_shell(settings: list[dict[str, str]]) -> None:
    content: str | None = None
    expected = {"A": "UNSET", "B": "UNSET"}
    for each in settings:
        content = merged(content, [Command(env=each)])
        expected |= each
    assert sourced(content or "", "A", "B") == [expected["A"], expected["B"]]
