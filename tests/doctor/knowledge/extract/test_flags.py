"""Flags of ``vllm serve`` as one tree declares them."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.doctor.knowledge.extract import serve_tree

from dsv4_doctor.errors import InputError
from dsv4_doctor.knowledge.extract.flags import Flag, flags
from dsv4_doctor.knowledge.extract.tables import read_flags, read_variables

FLAGS = flags(serve_tree.tree())


def says(name: str) -> dict[str, Any]:
    return {key: each for key, each in FLAGS[name].says.items() if key != "status"}


def test_the_flags_of_serve_and_of_nothing_else() -> None:
    names = """
        --attention-config --backend --block-size --cache-dtype --config --disable-log --dtype
        --enable-prefix-caching --forgotten --headless --help --hf-token --level --load-format
        --log-stack --max-tokens --middleware --model --old-way --origins --port --quantization
        --root-path --ssl-cert-reqs --swap-space --template-kwargs
    """
    assert [name for name in FLAGS if "." not in name] == names.split()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("--headless", {"type": "switch", "default": False}),
        ("--port", {"type": "int", "default": 8000}),
        ("--level", {"type": "str", "choices": ["debug", "info"], "default": "info"}),
        ("--root-path", {"type": "str", "default": None}),
        ("--template-kwargs", {"type": "json", "default": None}),
        ("--origins", {"type": "json", "default": ["*"]}),
        ("--middleware", {"type": "str", "nargs": "repeated", "default": []}),
        ("--ssl-cert-reqs", {"type": "int", "default": {"expression": "int(ssl.CERT_NONE)"}}),
        ("--model", {"type": "str", "default": "org/name"}),
        ("--block-size", {"type": "int", "choices": ["8", "16"], "default": 16}),
        ("--load-format", {"type": "str", "choices": ["auto", "dummy"], "default": None}),
        ("--max-tokens", {"type": "size", "default": None}),
        ("--cache-dtype", {"type": "str", "choices": ["auto", "fp8", "int8"], "default": "auto"}),
        ("--swap-space", {"type": "float", "default": 4}),
        ("--hf-token", {"type": "str", "nargs": "?", "default": None}),
        ("--backend", {"type": "other", "default": {"expression": "make_default()"}}),
    ],
)
def test_a_flag_is_what_its_parser_makes_of_it(name: str, expected: dict[str, Any]) -> None:
    assert says(name) == expected


def test_a_literal_beside_text_is_a_suggestion() -> None:
    assert says("--dtype") == {
        "type": "str",
        "choices": ["float", "half"],
        "open": True,
        "default": "half",
    }
    closed = serve_tree.ARG_UTILS.replace('"metavar" if contains_type(type_hints, str) else ', "")
    older = flags(serve_tree.tree(**{"vllm/engine/arg_utils.py": closed}))
    assert "open" not in older["--dtype"].says


def test_short_names_and_opposites() -> None:
    assert says("--quantization") == {
        "aliases": ["-q"],
        "type": "str",
        "choices": ["awq", "gptq"],
        "default": None,
    }
    assert says("--enable-prefix-caching") == {
        "negatives": ["--no-enable-prefix-caching", "--disable-prefix-caching"],
        "type": "bool",
        "default": True,
    }
    plain = serve_tree.PARSER.replace("_inverse_prefixes", "_nothing")
    older = flags(serve_tree.tree(**{"vllm/parser.py": plain}))
    assert older["--enable-prefix-caching"].says["negatives"] == ["--no-enable-prefix-caching"]


def test_a_default_that_only_running_it_gives_is_an_expression() -> None:
    assert says("--log-stack")["default"] == {"expression": "envs.VLLM_DEV"}


@pytest.mark.parametrize(
    ("name", "status", "why"),
    [
        ("--disable-log", "deprecated", "[DEPRECATED] Use another."),
        ("--old-way", "ignored", "--old-way is deprecated and has no effect."),
        ("--forgotten", "ignored", "nothing in the server's code reads it"),
    ],
)
def test_a_flag_that_does_nothing_any_more(name: str, status: str, why: str) -> None:
    assert FLAGS[name].says["status"] == status
    assert str(FLAGS[name].says["why"]).startswith(why)


def test_other_flags_do_what_they_say() -> None:
    assert {name for name, each in FLAGS.items() if "status" in each.says} == {
        "--disable-log",
        "--old-way",
        "--forgotten",
    }


def test_where_a_flag_stands() -> None:
    def place(flag: Flag) -> tuple[str, int]:
        return flag.file, flag.line

    frontend, engine = "vllm/entrypoints/cli_args.py", "vllm/engine/arg_utils.py"
    assert place(FLAGS["--port"]) == (frontend, serve_tree.line_of(frontend, "port: int"))
    assert place(FLAGS["--dtype"]) == (engine, serve_tree.line_of(engine, '"--dtype"'))
    assert place(FLAGS["--disable-log"]) == (engine, serve_tree.line_of(engine, '"--disable-log"'))


NESTED = {
    "vllm/engine/arg_utils.py": serve_tree.ARG_UTILS.replace(
        "**vllm_kwargs(AttentionConfig)", '**get_kwargs(VllmConfig)["attention_config"]'
    ).replace("import AttentionConfig,", "import VllmConfig, AttentionConfig,"),
    "vllm/config/__init__.py": serve_tree.CONFIG
    + "\n\n@config\nclass VllmConfig:\n    attention_config: AttentionConfig = Field()\n",
}


def test_the_keys_of_a_configuration_are_flags() -> None:
    found = flags(serve_tree.tree(**NESTED))
    assert [name for name in found if "." in name] == [
        "--attention-config.backend",
        "--attention-config.passes",
        "--attention-config.passes.fuse",
    ]
    assert found["--attention-config.backend"].says["choices"] == ["A", "B"]
    assert found["--attention-config.passes"].says["default"] == {"expression": "PassConfig()"}
    assert found["--attention-config.passes.fuse"].says["status"] == "ignored"


def test_not_where_the_parser_does_not_take_them() -> None:
    flat = serve_tree.PARSER.replace("create_nested_dict", "create_dict")
    found = flags(serve_tree.tree(**NESTED, **{"vllm/parser.py": flat}))
    assert not [name for name in found if "." in name]


def test_a_class_with_flags_of_its_own_is_not_gone_into() -> None:
    inside = NESTED["vllm/config/__init__.py"].replace("_hidden: int = 0", "m: ModelConfig = None")
    found = flags(serve_tree.tree(**{**NESTED, "vllm/config/__init__.py": inside}))
    assert "--attention-config.m" in found
    assert "--attention-config.m.dtype" not in found


def test_names_that_an_import_of_everything_brings() -> None:
    found = flags(
        serve_tree.tree(
            **{
                "vllm/config/__init__.py": "from .all import *\n",
                "vllm/config/all.py": serve_tree.CONFIG,
            }
        )
    )
    assert found["--cache-dtype"].says == FLAGS["--cache-dtype"].says
    assert found["--model"].says == FLAGS["--model"].says


@pytest.mark.parametrize(
    ("old", "new", "flag", "choices"),
    [
        (
            'group = parser.add_argument_group("ModelConfig")',
            ('cache_kwargs["cache_dtype"]["choices"].remove("int8")\n'
            "        group = parser"),
            "--cache-dtype",
            ["auto", "fp8"],
        ),
        (
            'group = parser.add_argument_group("ModelConfig")',
            ('cache_kwargs["cache_dtype"]["choices"] += ["bf16"]\n'
            '        cache_kwargs["cache_dtype"]["choices"].append("fp4")\n'
            "        group = parser"),
            "--cache-dtype",
            ["auto", "fp8", "int8", "bf16", "fp4"],
        ),
        ("for each in LoadFormat]", 'for each in LoadFormat if each.value != "auto"]',
         "--load-format", ["dummy"]),
        ("for each in LoadFormat]", 'for each in LoadFormat if each.value in ["auto"]]',
         "--load-format", ["auto"]),
    ],
)  # fmt: skip
def test_choices_that_are_changed_before_they_are_declared(
    old: str, new: str, flag: str, choices: list[str]
) -> None:
    changed = serve_tree.ARG_UTILS.replace(old, new)
    assert changed != serve_tree.ARG_UTILS
    found = flags(serve_tree.tree(**{"vllm/engine/arg_utils.py": changed}))
    assert found[flag].says["choices"] == choices
    assert "open" not in found[flag].says


@pytest.mark.parametrize(
    "hint", ["Elsewhere", "other.Elsewhere", "Elsewhere[int]", "None | 'Elsewhere'"]
)
def test_a_type_that_is_not_found_leaves_the_choices_open(hint: str) -> None:
    changed = serve_tree.CONFIG.replace('Annotated[LongDType, "a note"]', hint)
    found = flags(serve_tree.tree(**{"vllm/config/__init__.py": changed}))
    assert found["--cache-dtype"].says == {"type": "str", "default": "auto", "open": True}


@pytest.mark.parametrize("file", [each for each in serve_tree.FILES if each.endswith(".py")])
@settings(max_examples=40, deadline=None)
@given(cut=st.floats(0, 1), junk=st.sampled_from(["", "(", "\0", "\n  x", "lambda", "}", "@"]))
def test_a_broken_file_raises_one_error_only(file: str, cut: float, junk: str) -> None:
    text = serve_tree.FILES[file]
    at = int(cut * len(text))
    for changed in (text[:at] + junk, text[:at] + junk + text[at:]):
        tree = serve_tree.tree(**{file: changed})
        for read in (read_flags, read_variables):
            with suppress(InputError):
                assert all(line > 0 for _, _, line in read(tree).values())


def test_a_parser_that_is_made_otherwise_is_no_empty_answer() -> None:
    with pytest.raises(InputError, match="no flags of vllm serve"):
        read_flags(serve_tree.tree(**{"vllm/entrypoints/cli/serve.py": ""}))


def test_functions_that_call_each_other_end() -> None:
    looped = serve_tree.CLI_ARGS.replace(
        "def make_arg_parser(parser):\n",
        "def make_arg_parser(parser):\n    make_arg_parser(parser)\n",
    )
    assert "--headless" in flags(serve_tree.tree(**{"vllm/entrypoints/cli_args.py": looped}))
