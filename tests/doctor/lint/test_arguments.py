"""The words after ``vllm serve`` as Python's own argparse takes them."""

from __future__ import annotations

import argparse
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsv4_doctor.knowledge.flags import ServeFlag, flags_of
from dsv4_doctor.knowledge.places import Place
from dsv4_doctor.lint.arguments import parse
from dsv4_doctor.lint.model import Word

if TYPE_CHECKING:
    from collections.abc import Sequence

RELEASES = ("0.7.2", "0.24.0", "0.33.0")


class RefusedError(Exception):
    """What argparse ends with."""


class Oracle(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise RefusedError(message)


class Note(argparse.Action):
    """Keeps which option came with which values."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        several = values if isinstance(values, list) else [] if values is None else [values]
        namespace.seen.append((self.metavar, tuple(several)))


@cache
def oracle(release: str) -> Oracle:
    parser = Oracle(add_help=False)
    parser.add_argument("model_tag", nargs="?")
    for flag in flags_of(release).values():
        if "." in flag.name:
            continue
        nargs: Any = 0 if flag.type in {"switch", "bool"} else flag.nargs
        nargs = None if nargs == "repeated" else nargs
        names = (flag.name, *flag.aliases, *flag.negatives)
        parser.add_argument(*names, action=Note, nargs=nargs, dest=flag.name, metavar=flag.name)
    return parser


def ours(words: Sequence[str], release: str) -> list[tuple[str, tuple[str, ...]]]:
    """What is given, or a refusal where argparse has one."""
    parsed = parse([Word(each) for each in words], flags_of(release))
    for each in parsed.given:
        if each.flag is None:
            raise RefusedError(each.how)
        bare = each.flag.type in {"switch", "bool"}
        if (bare and each.values) or (not bare and not each.values and each.flag.nargs != "?"):
            raise RefusedError(each.name)
    if len(parsed.positionals) > 1:
        msg = "stray"
        raise RefusedError(msg)
    return [(each.flag.name, each.values) for each in parsed.given if each.flag is not None]


OPTIONS = {release: sorted(oracle(release)._option_string_actions) for release in RELEASES}


@st.composite
def lines(draw: st.DrawFn) -> tuple[str, list[str]]:
    release = draw(st.sampled_from(RELEASES))
    option = st.sampled_from(OPTIONS[release])
    cut = st.builds(lambda name, left: name[:left], option, st.integers(3, 30))
    value = st.sampled_from(["1", "-1", "0.5", "-.5", "auto", "a b", '{"a": 1}', "x=y", "-2.5"])
    joined = st.builds("{}={}".format, st.one_of(option, cut), value)
    word = st.one_of(option, cut, joined, value)
    words = draw(st.lists(word, max_size=5))
    # vLLM's parser takes "-O3" itself before argparse sees it, and a dot makes a key of JSON.
    kept = [
        each
        for each in words
        if not each.startswith("-O") and "." not in each.partition("=")[0].lstrip("-")
    ]
    return release, ["model", *kept]


@settings(max_examples=60)
@given(lines())
def test_what_is_given_is_what_argparse_takes(case: tuple[str, list[str]]) -> None:
    release, words = case
    namespace = argparse.Namespace(seen=[])
    try:
        oracle(release).parse_args(words, namespace)
        theirs = namespace.seen
    except RefusedError:
        theirs = None
    try:
        mine = ours(words, release)
    except RefusedError:
        assert theirs is None, (words, theirs)
    else:
        assert mine == theirs


def given_of(text: str, release: str = "0.33.0") -> list[tuple[str, str, tuple[str, ...]]]:
    parsed = parse([Word(each) for each in text.split()], flags_of(release))
    return [(each.how, each.flag.name if each.flag else "", each.values) for each in parsed.given]


@pytest.mark.parametrize(
    ("text", "release", "expected"),
    [
        ("-tp 8", "0.33.0", ("exact", "--tensor-parallel-size", ("8",))),
        ("--tensor_parallel_size=8", "0.7.2", ("exact", "--tensor-parallel-size", ("8",))),
        ("--num-gpu-blocks 9", "0.7.2", ("abbreviated", "--num-gpu-blocks-override", ("9",))),
        ("--num-gpu-blocks 9", "0.33.0", ("abbreviated", "--num-gpu-blocks-override", ("9",))),
        ("--max-model 9", "0.33.0", ("abbreviated", "--max-model-len", ("9",))),
        ("-as=1", "0.24.0", ("unknown", "", ("1",))),
        ("-qawq", "0.24.0", ("exact", "--quantization", ("awq",))),
        ("-qawq=1", "0.24.0", ("exact", "--quantization", ("awq=1",))),
        ("--max-num 9", "0.33.0", ("ambiguous", "", ("9",))),
        ("--enable-prefill", "0.33.0", ("unknown", "", ())),
        ("-O3", "0.33.0", ("exact", "--optimization-level", ("3",))),
        ("-O3", "0.7.2", ("exact", "--compilation-config", ("3",))),
        ("-O.level=3", "0.11.0", ("exact", "--compilation-config.level", ("3",))),
        ("-cc.mode 3", "0.33.0", ("exact", "--compilation-config.mode", ("3",))),
        ("-cc.mode 3", "0.7.2", ("unknown", "", ("3",))),
        ("--compilation-config.mode=-1", "0.24.0", ("exact", "--compilation-config.mode", ("-1",))),
        ("--speculative_config.num_speculative_tokens 2", "0.24.0",
         ("exact", "--speculative-config.num_speculative_tokens", ("2",))),
        ("--no-enable-prefix-caching", "0.24.0", ("exact", "--enable-prefix-caching", ())),
        ("--disable-prefix-caching", "0.33.0", ("exact", "--enable-prefix-caching", ())),
        ("--disable-log-requests", "0.33.0", ("exact", "--enable-log-requests", ())),
        ("--max-model-len -1", "0.33.0", ("exact", "--max-model-len", ("-1",))),
        ("--served-model-name a b", "0.33.0", ("exact", "--served-model-name", ("a", "b"))),
    ],
)  # fmt: skip
def test_forms(text: str, release: str, expected: tuple[str, str, tuple[str, ...]]) -> None:
    assert given_of(text, release) == [expected]


@given(st.lists(st.text(max_size=12), max_size=8), st.sampled_from(RELEASES))
def test_any_words_are_taken_apart_and_none_is_lost(words: list[str], release: str) -> None:
    parsed = parse([Word(each) for each in words], flags_of(release))
    taken = [at for each in parsed.given for at in range(each.first, each.last)]
    rest = [at for at in range(len(words)) if words[at] == "--"]
    assert sorted({*taken, *parsed.positionals, *rest}) == [*range(len(words))]
    assert len(taken) == len(set(taken))


def test_a_flag_with_a_number_of_values_takes_that_many() -> None:
    place = Place("vllm", "1", "x.py", 1)
    flags = {"--pair": ServeFlag("--pair", place, "str", 2)}
    parsed = parse([Word(each) for each in ("--pair", "a", "b", "c")], flags)
    assert parsed.given[0].values == ("a", "b")
    assert parsed.positionals == (3,)
