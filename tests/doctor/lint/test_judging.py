"""What is said of a command, and the corrected command."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet

from dsv4_doctor.errors import UsageError
from dsv4_doctor.knowledge import lint as knowledge
from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.flags import find, flags_of
from dsv4_doctor.lint import documents
from dsv4_doctor.lint.linting import Server, judge
from dsv4_doctor.lint.subject import Against, Gpu, gpu_named

FLASH, PRO = "deepseek-ai/DeepSeek-V4-Flash", "deepseek-ai/DeepSeek-V4-Pro"


def lint(text: str, release: str = "0.24.0", gpu: str = "", root: Path | None = None) -> Server:
    (found,) = documents.of_arguments(shlex.split(text))
    against = Against(release, flags_of(release), gpu_named(gpu) if gpu else None)
    return judge(found, against, root)


def said(text: str, release: str = "0.24.0", gpu: str = "") -> list[tuple[str, str]]:
    return [(each.id, each.subject) for each in lint(text, release, gpu).problems]


# A command line of the kind that guides give for DeepSeek-V4, with every flag of the articles.
ARTICLE = (
    "vllm serve /models/DeepSeek-V4-Flash --tensor-parallel-size 8 --block-size 32"
    " --num-gpu-blocks 4096 --max-parallel-loading-workers 4 --kv-cache-dtype fp8"
    " --enforce-eager --gpu-memory-utilization 0.92 --max-num-batched-tokens 8192"
    ' --enable-prefix-caching --enable-chunked-prefill --rope-scaling \'{"type": "dynamic"}\''
    " --rope-theta 10000 --rope-scaling-factor 4 --flash-attn-3-bank-align 128"
    " --awq-ckpt-path /models/awq.pt --log-requests-on-error --log-level INFO"
    " --log-file /var/log/vllm.log --enable-prefill --disable-log-requests --swap-space 16"
    " --quantization fp8"
)
NEVER = {
    ("lint.flag.unknown", name)
    for name in (
        *("--rope-scaling-factor", "--flash-attn-3-bank-align", "--awq-ckpt-path"),
        *("--log-requests-on-error", "--log-file", "--enable-prefill"),
    )
}
ABBREVIATED = ("lint.flag.abbreviated", "--num-gpu-blocks-override")
BLOCK = ("lint.deepseek-v4.block-size", "--block-size")
ROPE = {("lint.flag.removed", "--rope-scaling"), ("lint.flag.removed", "--rope-theta")}
SWAP = ("lint.flag.removed", "--swap-space")


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        (
            "0.7.2",
            {
                *NEVER,
                ABBREVIATED,
                ("lint.flag.future", "--log-level"),
                ("lint.model.release", "/models/DeepSeek-V4-Flash"),
            },
        ),
        (
            "0.24.0",
            {
                *NEVER,
                *ROPE,
                ABBREVIATED,
                BLOCK,
                SWAP,
                ("lint.flag.future", "--log-level"),
                ("lint.flag.removed", "--disable-log-requests"),
            },
        ),
        ("0.33.0", {*NEVER, *ROPE, ABBREVIATED, BLOCK, SWAP}),
    ],
)
def test_each_flag_of_the_articles(release: str, expected: set[tuple[str, str]]) -> None:
    found = said(ARTICLE, release, "H200")
    assert set(found) == expected
    assert len(found) == len(expected)


def test_the_corrected_command_keeps_what_no_rule_can_mend() -> None:
    server = lint(ARTICLE, "0.33.0", "H200")
    assert "--num-gpu-blocks-override 4096" in server.command
    assert "--block-size 256" in server.command
    assert "--swap-space" not in server.command
    assert "--flash-attn-3-bank-align 128" in server.command
    again = lint(server.command.replace("\\\n", ""), "0.33.0", "H200")
    assert {each.id for each in again.problems} == {"lint.flag.unknown", "lint.flag.removed"}
    assert not again.fixed


@pytest.mark.parametrize(
    ("text", "release", "expected"),
    [
        ("vllm serve m --max-num 3", "0.33.0", [("lint.flag.ambiguous", "--max-num")]),
        ("vllm serve m --max_model_len 32k -tp 8", "0.33.0", []),
        ("vllm serve m --max-model-len 32q", "0.33.0", [("lint.flag.value", "--max-model-len")]),
        ("vllm serve m --max-model-len auto", "0.33.0", []),
        ("vllm serve m -tp eight", "0.24.0", [("lint.flag.value", "--tensor-parallel-size")]),
        ("vllm serve m -tp", "0.24.0", [("lint.flag.value", "--tensor-parallel-size")]),
        ("vllm serve m --kv-cache-dtype fp9", "0.24.0", [("lint.flag.value", "--kv-cache-dtype")]),
        ("vllm serve m --enforce-eager=true", "0.24.0", [("lint.flag.value", "--enforce-eager")]),
        ("vllm serve m --enforce-eager true", "0.24.0", [("lint.word.stray", "true")]),
        ("vllm serve m --enable-chunked-prefill False", "0.7.2", []),
        ("vllm serve m other", "0.24.0", [("lint.word.stray", "other")]),
        ("python -m vllm.entrypoints.openai.api_server m", "0.24.0", [("lint.word.stray", "m")]),
        ("vllm serve m --compilation-config '{\"mode\": 3}'", "0.24.0", []),
        ("vllm serve m --compilation-config '{\"mode\": \"x\"'", "0.24.0",
         [("lint.flag.value", "--compilation-config")]),
        ("vllm serve m --compilation-config '[]'", "0.24.0",
         [("lint.flag.value", "--compilation-config")]),
        ("vllm serve m --compilation-config '{\"mod\": 3}'", "0.24.0",
         [("lint.flag.key", "--compilation-config.mod")]),
        ("vllm serve m --compilation-config '{\"use_inductor\": true}'", "0.24.0",
         [("lint.flag.key", "--compilation-config.use_inductor")]),
        ("vllm serve m -cc.pass_config.no_such 3", "0.24.0",
         [("lint.flag.key", "--compilation-config.pass_config.no_such")]),
        ("vllm serve m --hf-overrides '{\"anything\": {\"goes\": 1}}'", "0.24.0", []),
        ("vllm serve m -cc.mode 3", "0.7.2", [("lint.flag.future", "--compilation-config.mode")]),
        ("vllm serve m --disable-prefix-caching", "0.24.0",
         [("lint.flag.future", "--enable-prefix-caching")]),
        ("vllm serve m -sc {}", "0.18.1", [("lint.flag.future", "--speculative-config")]),
        ("vllm serve m --disable-cascade-attn", "0.33.0",
         [("lint.flag.ignored", "--disable-cascade-attn")]),
        ("vllm serve m --calculate-kv-scales", "0.24.0",
         [("lint.flag.deprecated", "--calculate-kv-scales")]),
        ("vllm serve m --port 1 --port 2", "0.24.0", [("lint.flag.repeated", "--port")]),
        ("vllm serve m -cc.mode 3 -cc.backend x", "0.24.0", []),
        ("vllm serve m --enable-prefix-caching --no-enable-prefix-caching", "0.24.0",
         [("lint.contradiction.opposite", "--enable-prefix-caching")]),
        ("vllm serve m -cc '{\"mode\": 3}' -cc.backend eager", "0.24.0",
         [("lint.flag.overwritten", "--compilation-config")]),
        ("vllm serve m --enable-auto-tool-choice", "0.24.0",
         [("lint.contradiction.tool-parser", "--enable-auto-tool-choice")]),
        ("vllm serve m --enable-auto-tool-choice --tool-call-parser x", "0.24.0", []),
        ("vllm serve m --max-num-seqs 4k --max-num-batched-tokens 2048", "0.24.0",
         [("lint.flag.value", "--max-num-seqs"),
          ("lint.contradiction.batched-tokens", "--max-num-seqs")]),
        ("vllm serve m --max-num-seqs 4096 --max-num-batched-tokens 2k", "0.24.0",
         [("lint.contradiction.batched-tokens", "--max-num-seqs")]),
        ("vllm serve m --attention-backend A --attention-config '{\"backend\": \"B\"}'", "0.24.0",
         [("lint.contradiction.attention-backend", "--attention-backend")]),
        ("VLLM_ATTENTION_BACKEND=X vllm serve m", "0.24.0",
         [("lint.variable.dropped", "VLLM_ATTENTION_BACKEND")]),
        ("VLLM_ATTENTION_BACKEND=FLASH_ATTN vllm serve m", "0.7.2", []),
        ("VLLM_LOGING_LEVEL=X vllm serve m", "0.24.0",
         [("lint.variable.unknown", "VLLM_LOGING_LEVEL")]),
        ("NCCL_DEBUGG=X vllm serve m", "0.24.0", [("lint.variable.unknown", "NCCL_DEBUGG")]),
        ("NCCL_P2P_DISABLE=1 PYTORCH_CUDA_ALLOC_CONF=a:b CUDA_VISIBLE_DEVICES=0 vllm serve m",
         "0.24.0", []),
        ("CUDA_OF_OURS=1 HF_HOME=x vllm serve m", "0.24.0",
         [("lint.variable.unknown", "CUDA_OF_OURS")]),
    ],
)  # fmt: skip
def test_verdicts(text: str, release: str, expected: list[tuple[str, str]]) -> None:
    assert said(text, release) == expected


@pytest.mark.parametrize(
    ("text", "gpu", "expected"),
    [
        (f"vllm serve {FLASH} -tp 16", "", ["lint.model.tensor-parallel"]),
        (f"vllm serve {FLASH} -tp 8", "", []),
        (f"vllm serve {PRO} -tp 16", "", []),
        (f"vllm serve {FLASH} -tp 3", "", ["lint.model.tensor-parallel"]),
        (f"vllm serve {FLASH} --block-size 64", "", ["lint.deepseek-v4.block-size"]),
        (f"vllm serve {FLASH} --block-size 256", "H200", []),
        ("vllm serve other/Model --block-size 64", "H200", []),
        (f"vllm serve {FLASH}", "A100", ["lint.model.gpu"]),
        (f"vllm serve {FLASH}", "L40S", ["lint.model.gpu"]),
        (f"vllm serve {FLASH} --kv-cache-dtype auto", "H200", ["lint.deepseek-v4.kv-cache-dtype"]),
        (f"vllm serve {FLASH} --kv-cache-dtype fp8", "RTX PRO 6000 Blackwell", []),
        (f"vllm serve {FLASH} --kv-cache-dtype bfloat16", "sm_120",
         ["lint.deepseek-v4.kv-cache-dtype"]),
        (f"vllm serve {FLASH} --kv-cache-dtype bfloat16", "", []),
        ("vllm serve other/Model --kv-cache-dtype fp8", "A100", ["lint.gpu.kv-cache-dtype"]),
        ("vllm serve other/Model --kv-cache-dtype fp8", "L40S", []),
        (f"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True vllm serve {FLASH}", "sm_90",
         ["lint.deepseek-v4.expandable-segments"]),
        (f"vllm serve {FLASH} --moe-backend deep_gemm_mega_moe", "B200",
         ["lint.deepseek-v4.mega-moe"]),
        (f"vllm serve {FLASH} --moe-backend deep_gemm_mega_moe -ep", "B200", []),
    ],
)  # fmt: skip
def test_models_and_gpus(text: str, gpu: str, expected: list[str]) -> None:
    assert [each.id for each in lint(text, "0.24.0", gpu).problems] == expected


@pytest.mark.parametrize(
    ("text", "release", "expected"),
    [
        ("vllm serve deepseek-ai/DeepSeek-V4-Flash-0731", "0.24.0", ["lint.model.release"]),
        ("vllm serve deepseek-ai/DeepSeek-V4-Flash-0731", "0.25.0", []),
        (f"vllm serve {FLASH} --max-model-len 1048576", "0.33.0", []),
        (f"vllm serve {FLASH} --max-model-len 2M", "0.33.0", ["lint.model.length"]),
        (f"vllm serve {FLASH} --max-model-len auto", "0.33.0", []),
        (f"vllm serve {FLASH} --speculative-config '{{\"method\": \"mtp\"}}'", "0.33.0", []),
        (f"vllm serve {FLASH} --spec-method dspark", "0.33.0", ["lint.model.draft"]),
        (f"vllm serve {FLASH}-0731 --speculative-config.method mtp", "0.33.0",
         ["lint.model.draft"]),
        (f"vllm serve {FLASH}-0731 --speculative-config.method ngram", "0.33.0", []),
    ],
)  # fmt: skip
def test_checkpoints(text: str, release: str, expected: list[str]) -> None:
    assert [each.id for each in lint(text, release).problems] == expected


def test_a_model_directory_says_its_heads(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "llama", "num_attention_heads": 28}')
    (problem,) = lint(f"vllm serve {tmp_path} -tp 8").problems
    assert problem.title.startswith("28 attention heads cannot be split over 8 GPUs")
    config = '{"model_type": "deepseek_v4", "max_position_embeddings": 4096, "o_groups": 4}'
    (tmp_path / "config.json").write_text(config)
    found = lint(f"vllm serve {tmp_path} --max-model-len 8192 -tp 8").problems
    assert [each.id for each in found] == ["lint.model.length", "lint.model.tensor-parallel"]
    (tmp_path / "config.json").write_text(
        '{"model_type": "x", "max_position_embeddings": 4096, "rope_scaling": {"factor": 4}}'
    )
    assert lint(f"vllm serve {tmp_path} --max-model-len 8192").problems == ()
    (tmp_path / "config.json").write_text("no json")
    assert lint(f"vllm serve {tmp_path} -tp 8").problems == ()


def test_more_gpus_than_the_machine_has() -> None:
    (found,) = documents.of_arguments(["vllm", "serve", "m", "-tp", "4", "-dp", "4"])
    gpu = Gpu("H200", gpu_named("H200").arch, 8)
    against = Against("0.24.0", flags_of("0.24.0"), gpu)
    (problem,) = judge(found, against).problems
    assert (problem.id, problem.found, problem.expected) == ("lint.gpu.count", "16", "at most 8")


@pytest.mark.parametrize(
    ("text", "release", "expected"),
    [
        ("--num-gpu-blocks=9", "0.33.0", "--num-gpu-blocks-override=9"),
        ("--enforce-eager true", "0.24.0", "--enforce-eager"),
        ("--enforce-eager false", "0.24.0", "--no-enforce-eager"),
        ("--port 1 --port 2", "0.24.0", "--port 2"),
        ("--guided-decoding-backend xgrammar", "0.24.0",
         "--structured-outputs-config.backend xgrammar"),
        ("--cuda-graph-sizes 1 2", "0.24.0", "--cudagraph-capture-sizes 1 2"),
        ("--use-v2-block-manager --port 1", "0.24.0", "--port 1"),
        ("--attention-config.use_fp4_indexer_cache true", "0.33.0",
         "--attention-config.indexer_kv_dtype mxfp4"),
        ("--disable-cascade-attn --port 1", "0.33.0", "--port 1"),
        ("--enable-prefil", "0.24.0", "--enable-prefil"),
    ],
)  # fmt: skip
def test_fixes(text: str, release: str, expected: str) -> None:
    command = lint(f"vllm serve m {text}", release).command
    assert " ".join(command.replace("\\\n", "").split()) == f"vllm serve m {expected}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("vllm serve --port 80", ["lint.model.none"]),
        ("docker run vllm/vllm-openai:v0.24.0", ["lint.model.none"]),
        ("vllm serve --model m", []),
        ("vllm serve --config c.yaml", []),
        ("vllm serve --help", []),
        ("vllm serve $MODEL", ["lint.word.unknown"]),
    ],
)
def test_a_command_that_names_no_model(text: str, expected: list[str]) -> None:
    (found,) = documents.of_arguments([f"{text} "])
    problems = judge(found, Against("0.24.0", flags_of("0.24.0"))).problems
    assert [each.id for each in problems] == expected


def test_the_model_that_is_served_without_a_name_is_said() -> None:
    (problem,) = lint("vllm serve --port 80").problems
    assert problem.title == "no model is named: vLLM 0.24.0 serves Qwen/Qwen3-0.6B"
    module = "python -m vllm.entrypoints.openai.api_server --port 80"
    (problem,) = lint(module, "0.7.2").problems
    assert problem.title == "no model is named: vLLM 0.7.2 serves facebook/opt-125m"


@pytest.mark.parametrize("text", ["vllm serve --model m", "vllm serve --port 80"])
def test_old_releases_take_the_model_by_its_position_only(text: str) -> None:
    assert said(text, "0.8.2") == [("lint.model.position", "--model")]
    assert ("lint.model.position", "--model") not in said(text, "0.8.3")


def test_a_key_of_another_release_is_said_to_be_one() -> None:
    (problem,) = lint("vllm serve m --compilation-config '{\"use_inductor\": true}'").problems
    assert problem.title == (
        "--compilation-config.use_inductor is gone since vLLM 0.12.0;"
        " the last release with it is 0.11.2"
    )


def test_fixes_of_variables_and_words_that_only_running_tells() -> None:
    script = 'export A=1 VLLM_USE_V1=1\nvllm serve "$MODEL" --port "$(cat port)" --swap-space 4\n'
    (found,) = documents.read(script, "x.sh")
    server = judge(found, Against("0.24.0", flags_of("0.24.0")))
    assert server.command == 'A=1 vllm serve "$MODEL" \\\n  --port "$(cat port)"'
    unknown = [each.found for each in server.problems if each.status == "unknown"]
    assert unknown == ['"$(cat port)"', '"$MODEL"']
    assert server.wrong


WORDS = st.lists(
    st.sampled_from(
        [
            *(
                "--swap-space",
                "4",
                "--num-gpu-blocks",
                "--port",
                "--enforce-eager",
                "true",
                "false",
            ),
            *("--block-size", "32", "-tp", "16", "--disable-log-requests", "--cuda-graph-sizes"),
            *("--attention-config.use_fp4_indexer_cache", "--log-level", "x y", "-cc.mode", "{}"),
        ]
    ),
    max_size=10,
)


@given(WORDS, st.sampled_from(["0.7.2", "0.24.0", "0.33.0"]))
def test_what_was_fixed_is_not_wrong_any_more(words: list[str], release: str) -> None:
    before = lint(shlex.join(["vllm", "serve", FLASH, *words]), release)
    after = lint(before.command.replace("\\\n", ""), release)
    # What it was renamed to may be wrong in another way, such as by its value.
    left = Counter(each.id for each in after.problems)
    was = Counter(each.id for each in before.problems)
    for name, mended in Counter(before.fixed).items():
        # Two flags may have become one of the same name.
        if name != "lint.flag.repeated":
            assert left[name] <= was[name] - mended, name


def test_every_name_of_every_release_has_a_verdict_in_every_other() -> None:
    names = {
        name
        for each in load.flags().values()
        for says in (each.says(each.newest) or {},)
        for name in (each.name, *says.get("aliases", ()), *says.get("negatives", ()))
    }
    for release in ("0.6.0", "0.7.2", "0.18.1", "0.24.0", "0.33.0"):
        against = Against(release, flags_of(release))
        words = [word for name in sorted(names) for word in (name, "1")]
        (found,) = documents.of_arguments(["vllm", "serve", "m", *words])
        for each in judge(found, against).problems:
            if each.id == "lint.flag.unknown":
                # One dash and a dot: an alias that no release of then takes keys for.
                assert each.subject not in load.flags(), each


@given(st.lists(st.text(max_size=8), max_size=6), st.sampled_from(["0.7.2", "0.33.0"]))
def test_any_words_are_judged(words: list[str], release: str) -> None:
    found = documents.of_arguments(["vllm", "serve", *words])
    for each in found:
        assert judge(each, Against(release, flags_of(release))).release == release


def test_a_configuration_is_read_with_the_command(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(
        "model: x\nswap-space: 4\nenforce-eager: true\nenable-prefix-caching: false\n"
        "compilation-config: {mod: 3}\nserved-model-name: [a, b]\nblock-size: 32\n"
    )
    server = lint(f"vllm serve {FLASH} --config c.yaml", "0.24.0", root=tmp_path)
    assert [each.subject for each in server.problems] == [
        *("--swap-space", "--compilation-config.mod", "--block-size")
    ]
    assert server.problems[0].title.startswith("in --config: ")
    assert server.flags == 7 + 1
    assert "--config c.yaml" in server.command
    gone = lint("vllm serve m --config none.yaml", root=tmp_path)
    assert gone.notes == ("--config none.yaml: not read: No such file or directory",)


@pytest.mark.parametrize("text", ["H200", "h200", "NVIDIA H200", "sm_90", "9.0", "90a"])
def test_gpus_by_name(text: str) -> None:
    assert gpu_named(text).arch.sm == "sm_90"


@pytest.mark.parametrize("text", ["RTX", "no such GPU", ""])
def test_gpus_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match="GPU"):
        gpu_named(text)


def test_every_replacement_is_of_a_flag_that_is_gone_somewhere() -> None:
    newest = load.flag_releases()[-1]
    for name, each in knowledge.instead().items():
        if each.words:
            assert any(find(flags_of(one), each.words[0]) for one in load.flag_releases()), name
        if name in load.flags():
            gone = (
                not load.flags()[name].within(newest) or load.flags()[name].spans[0][0] != "0.6.0"
            )
            assert gone, name


def test_every_rule_names_flags_of_its_releases() -> None:
    for rule in knowledge.rules():
        releases = [each for each in load.flag_releases() if rule.releases.contains(each)]
        assert releases, rule.id
        flags = flags_of(releases[-1])
        for condition in rule.when:
            names = filter(None, (condition.flag, condition.above))
            assert all(find(flags, name) for name in names), rule.id
        assert isinstance(rule.releases, SpecifierSet)
        assert rule.place.file
