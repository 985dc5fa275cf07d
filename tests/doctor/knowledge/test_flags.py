"""Flags of ``vllm serve`` and environment variables over the known releases."""

from __future__ import annotations

import pytest
from packaging.version import Version

from dsv4_doctor.errors import UsageError
from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.flags import ServeFlag, find, flags_of

OLD, MIDDLE, NEW = flags_of("0.7.2"), flags_of("0.24.0"), flags_of("0.33.0")


def flag(flags: dict[str, ServeFlag], word: str) -> ServeFlag:
    found = find(flags, word)
    assert found is not None, word
    return found


def test_every_known_release_is_in_the_tables() -> None:
    assert set(load.release_names()) <= set(load.flag_releases())
    assert list(load.flag_releases()) == sorted(load.flag_releases(), key=Version)


def test_a_flag_that_every_release_has() -> None:
    known = load.flags()["--max-model-len"]
    assert known.spans == ((load.flag_releases()[0], load.flag_releases()[-1]),)
    assert not known.within("0.0.1")


@pytest.mark.parametrize(
    ("name", "spans"),
    [
        ("--swap-space", (("0.6.0", "0.17.1"),)),
        ("--attention-backend", (("0.13.0", "0.33.0"),)),
        ("--attention-config.use_fp4_indexer_cache", (("0.20.0", "0.29.0"),)),
        ("--log-level", (("0.31.0", "0.33.0"),)),
    ],
)
def test_when_a_flag_came_and_went(name: str, spans: tuple[tuple[str, str], ...]) -> None:
    assert load.flags()[name].spans == spans


@pytest.mark.parametrize(
    "word",
    [
        "--flash-attn-3-bank-align",
        "--rope-scaling-factor",
        "--awq-ckpt-path",
        "--log-requests-on-error",
        "--log-file",
        "--enable-prefill",
    ],
)
def test_flags_of_articles_that_no_release_has(word: str) -> None:
    assert all(find(flags_of(name), word) is None for name in load.flag_releases())


@pytest.mark.parametrize(
    "name", ["VLLM_ENABLE_FLASH_ATTN", "VLLM_ENABLE_PAGED_ATTENTION_V2", "VLLM_USE_TRITON"]
)
def test_variables_of_articles_that_no_release_reads(name: str) -> None:
    assert name not in load.variables()


@pytest.mark.parametrize(
    ("name", "spans"),
    [
        ("VLLM_ATTENTION_BACKEND", (("0.6.0", "0.14.1"),)),
        ("VLLM_FLASH_ATTN_VERSION", (("0.7.0", "0.14.1"),)),
        ("VLLM_USE_V1", (("0.6.4", "0.11.0"),)),
        ("VLLM_CUTLASS_SRC_DIR", (("0.6.5", "0.33.0"),)),
        ("VLLM_SKIP_VERSION_SUFFIX", (("0.31.0", "0.33.0"),)),
    ],
)
def test_when_a_variable_came_and_went(name: str, spans: tuple[tuple[str, str], ...]) -> None:
    assert load.variables()[name].spans == spans


def test_who_reads_a_variable() -> None:
    says = load.variables()["MAX_JOBS"].says("0.24.0")
    assert says is not None
    assert {"setup.py", "vllm/envs.py"} <= set(says["read_by"])
    says = load.variables()["DEEPGEMM_SRC_DIR"].says("0.24.0")
    assert says == {"read_by": ["CMake"]}


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("--max-model-len", "--max-model-len"),
        ("--max_model_len=4096", "--max-model-len"),
        ("-tp", "--tensor-parallel-size"),
        ("--no-enable-prefix-caching", "--enable-prefix-caching"),
        ("--attention_config.indexer_kv_dtype", "--attention-config.indexer_kv_dtype"),
        ("-cc.mode=3", "--compilation-config.mode"),
        ("-O2", "--optimization-level"),
        ("--kv-transfer-config.kv_connector_extra_config.any.key+",
         "--kv-transfer-config.kv_connector_extra_config"),
        ("--limit-mm-per-prompt.image", "--limit-mm-per-prompt"),
        ("--help=all", "--help"),
    ],
)  # fmt: skip
def test_what_a_word_of_a_command_line_is(word: str, name: str) -> None:
    for flags in (MIDDLE, NEW):
        assert flag(flags, word).name == name


@pytest.mark.parametrize(
    "word", ["", "-", "--", "--nothing", "--attention-config.no_such_key", "--port.x", "-zz"]
)
def test_words_that_are_no_flags(word: str) -> None:
    assert find(NEW, word) is None


def test_a_key_of_a_value_only_where_the_parser_takes_it() -> None:
    assert find(OLD, "--compilation-config.mode") is None


def test_the_opposite_of_a_flag_in_the_newest() -> None:
    assert flag(NEW, "--disable-log-requests").name == "--enable-log-requests"
    assert find(MIDDLE, "--disable-log-requests") is None


def test_what_the_parser_of_0_24_0_makes_of_its_flags() -> None:
    # As its own parser says, run with torch 2.11.0.
    length = flag(MIDDLE, "--max-model-len")
    assert (length.type, length.default, length.default_known) == ("size", None, True)
    level = flag(MIDDLE, "--uvicorn-log-level")
    assert set(level.choices) == {"critical", "debug", "error", "info", "trace", "warning"}
    assert (level.default, level.open) == ("info", False)
    memory = flag(MIDDLE, "--gpu-memory-utilization")
    assert (memory.type, memory.default) == ("float", 0.92)
    assert flag(MIDDLE, "--api-key").nargs == "+"
    assert flag(MIDDLE, "--headless").type == "switch"
    assert flag(MIDDLE, "--log-error-stack").default == {"expression": "envs.VLLM_SERVER_DEV_MODE"}


def test_what_the_parser_of_0_33_0_makes_of_its_flags() -> None:
    # As its own parser says, run with torch 2.11.0.
    backend = flag(NEW, "--all2all-backend")
    assert "passthrough" not in backend.choices
    assert ("moonep" in backend.choices, backend.open) == (True, False)
    layout = flag(NEW, "--chat-template-content-format")
    assert (set(layout.choices), layout.open) == ({"auto", "openai", "string"}, False)
    cache = flag(NEW, "--kv-cache-dtype")
    assert ("fp8" in cache.choices, cache.open) == (True, True)


def test_what_does_nothing_any_more() -> None:
    assert flag(OLD, "--use-v2-block-manager").status == "ignored"
    cascade = flag(NEW, "--disable-cascade-attn")
    assert cascade.status == "ignored"
    assert "no effect" in cascade.why
    assert flag(MIDDLE, "--calculate-kv-scales").status == "deprecated"
    assert flag(MIDDLE, "--max-model-len").status == ""


def test_a_flag_says_how_long_it_was_there() -> None:
    space = flag(OLD, "--swap-space")
    assert (space.first, space.last) == ("0.6.0", "0.17.1")


def test_a_release_whose_flags_are_not_known() -> None:
    with pytest.raises(UsageError, match=r"the flags of vLLM 0\.0\.1 are not known"):
        flags_of("0.0.1")


@pytest.mark.parametrize("name", load.flag_releases())
def test_every_flag_of_every_release_is_whole(name: str) -> None:
    flags = flags_of(name)
    assert len(flags) > 100
    for each in flags.values():
        assert each.type
        # A key may have no default; a flag always has one.
        assert each.default_known or "." in each.name
        assert (each.status == "") == (each.why == "")
        assert not each.open or each.type != "switch"
