"""Every kind of file: the server that it starts, its words, its variables, their lines."""

from __future__ import annotations

import json
import shlex

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dsv4_doctor.errors import InputError
from dsv4_doctor.lint import dockerfile, documents
from dsv4_doctor.lint.documents import Form, form_of, read
from dsv4_doctor.lint.model import Invocation

WORDS = st.lists(
    st.text(
        st.characters(
            codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="$\u2028\u2029\x85"
        ),
        min_size=1,
        max_size=10,
    ),
    max_size=6,
)


def texts(found: tuple[Invocation, ...]) -> list[str]:
    (server,) = found
    return [word.text for word in server.arguments]


@given(WORDS)
def test_a_script_has_the_words(words: list[str]) -> None:
    assert texts(read(f"#!/bin/sh\nexec vllm serve {shlex.join(words)}\n", "start.sh")) == words


@given(WORDS)
def test_both_forms_of_a_dockerfile_have_the_words(words: list[str]) -> None:
    command = json.dumps(["vllm", "serve", *words], ensure_ascii=False)
    assert texts(read(f"FROM base\nCMD {command}\n", "Dockerfile")) == words
    entry = f'FROM base\nENTRYPOINT ["vllm", "serve"]\nCMD {json.dumps(words)}\n'
    assert texts(read(entry, "Dockerfile")) == words
    shell = f"FROM base\nCMD vllm serve {shlex.join(words)}\n"
    assert texts(read(shell, "Dockerfile")) == words


@given(WORDS)
def test_a_manifest_has_the_words(words: list[str]) -> None:
    container = {"name": "server", "image": "base", "command": ["vllm", "serve"], "args": words}
    template = {"spec": {"containers": [container]}}
    manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": template}}
    assert texts(read(yaml.safe_dump(manifest, allow_unicode=True), "x.yaml")) == words


@given(WORDS)
def test_a_compose_file_has_the_words(words: list[str]) -> None:
    as_list = {"services": {"server": {"image": "base", "command": ["vllm", "serve", *words]}}}
    assert texts(read(yaml.safe_dump(as_list), "compose.yaml")) == words
    line = shlex.join(["vllm", "serve", *words])
    as_text = {"services": {"server": {"image": "base", "command": line}}}
    assert texts(read(yaml.safe_dump(as_text), "compose.yaml")) == words


@given(WORDS)
def test_a_unit_has_the_words(words: list[str]) -> None:
    quoted = [
        '"' + each.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%") + '"'
        for each in words
    ]
    text = f"[Service]\nExecStart=/usr/bin/vllm serve {' '.join(quoted)}\n"
    assert texts(read(text, "vllm.service")) == words


@given(st.text(max_size=200), st.sampled_from(Form))
def test_any_text_is_read_or_refused(text: str, form: Form) -> None:
    try:
        read(text, "some file", form)
    except InputError as error:
        refused = str(error)
    else:
        refused = "some file"
    assert refused.startswith("some file")


PIECES = st.lists(
    st.sampled_from(
        r"""FROM a AS b|FROM b|ARG X=1|ENV A=$X B='c d'|ENV OLD form|CMD vllm serve m \|
CMD ["vllm","serve"]|ENTRYPOINT ["sh","-c"]|RUN <<EOF|EOF|# c|\|[Service]|
ExecStart=vllm serve $A ${B}|Environment=A=1 "B=x y"|kind: Pod|spec:|  containers:|
  - args: [a]|services:|  a:|    command: vllm serve x|- &a [*a]|<<: {a: b}|'""".replace(
            "|\n", "|"
        ).split("|")
    ),
    max_size=14,
).map("\n".join)


@given(PIECES, st.sampled_from(Form))
def test_any_pieces_are_read_or_refused(text: str, form: Form) -> None:
    try:
        found = read(text, "f", form)
    except InputError:
        return
    assert all(isinstance(each, Invocation) for each in found)


SCRIPT = """\
#!/usr/bin/env bash
set -euo pipefail
export VLLM_LOGGING_LEVEL=DEBUG
MODEL=${MODEL:-deepseek-ai/DeepSeek-V4-Flash}
ARGS=(--block-size 256
      --port 8000)
NCCL_DEBUG=INFO numactl --membind 0 python -m vllm.entrypoints.openai.api_server \\
  --model "$MODEL" \\
  "${ARGS[@]}" 2>&1 | tee log
"""


def test_a_script() -> None:
    (server,) = read(SCRIPT, "start.sh")
    assert server.kind == "module"
    assert [word.text for word in server.arguments] == [
        *("--model", "deepseek-ai/DeepSeek-V4-Flash", "--block-size", "256", "--port", "8000")
    ]
    assert [(each.name, each.value, each.line) for each in server.environment] == [
        ("VLLM_LOGGING_LEVEL", "DEBUG", 3),
        ("NCCL_DEBUG", "INFO", 7),
    ]
    assert server.arguments[0].line == 8


DOCKERFILE = """\
# syntax=docker/dockerfile:1
ARG VERSION=0.24.0
FROM nvidia/cuda:13.0.2-base AS base
ARG VERSION
ENV VLLM_USE_V1=1 \\
    NCCL_DEBUG="INFO"
RUN pip install "vllm==${VERSION}"
RUN <<EOF
CMD not this one
EOF
FROM base
ENV MODEL deepseek-ai/DeepSeek-V4-Flash
ENTRYPOINT ["vllm", "serve"]
CMD ["m", \\
     "--port", "80"]
"""


def test_a_dockerfile() -> None:
    (server,) = read(DOCKERFILE, "build/Dockerfile.serve")
    assert [(word.text, word.line) for word in server.arguments] == [
        ("m", 14),
        ("--port", 15),
        ("80", 15),
    ]
    assert [(each.name, each.value, each.line) for each in server.environment] == [
        ("VLLM_USE_V1", "1", 5),
        ("NCCL_DEBUG", "INFO", 5),
        ("MODEL", "deepseek-ai/DeepSeek-V4-Flash", 12),
    ]
    assert server.packages == "0.24.0"
    assert server.where == "ENTRYPOINT and CMD"


def test_a_dockerfile_on_vllms_image_in_shell_form() -> None:
    text = "FROM vllm/vllm-openai:v0.33.0\nENV TP=8\nENTRYPOINT vllm serve m -tp $TP\n"
    (server,) = read(text, "Dockerfile")
    assert [word.text for word in server.arguments] == ["m", "-tp", "8"]
    assert server.packages == "0.33.0"


def test_only_cmd_on_vllms_image_is_its_arguments() -> None:
    (server,) = read('FROM vllm/vllm-openai:v0.24.0\nCMD ["--model", "m"]\n', "Dockerfile")
    assert (server.kind, [word.text for word in server.arguments]) == ("image", ["--model", "m"])


UNIT = """\
[Unit]
Description=vllm serve in words
[Service]
Environment="VLLM_LOGGING_LEVEL=DEBUG" TP=8
Environment=EXTRA=--enable-expert-parallel --port=80
EnvironmentFile=-/etc/vllm.env
ExecStart=
ExecStart=-/opt/venv/bin/vllm serve m \\
  # a comment between
  --tensor-parallel-size ${TP} $TP \\
  --api-key ${KEY} --name %i
"""


def test_a_unit() -> None:
    (server,) = read(UNIT, "vllm@.service")
    assert [word.text for word in server.arguments] == [
        *("m", "--tensor-parallel-size", "8", "8", "--api-key", "${KEY}", "--name", "%i")
    ]
    assert [word.text for word in server.arguments if not word.literal] == ["${KEY}", "%i"]
    assert server.notes == ("/etc/vllm.env: variables of this file were not read",)
    assert server.environment[0].line == 4
    assert server.arguments[1].line == 10


COMPOSE = """\
services:
  web: {image: nginx, command: nginx -g daemon}
  server:
    image: vllm/vllm-openai:v0.24.0
    environment:
      - VLLM_LOGGING_LEVEL=DEBUG
      - HF_TOKEN
    command: >
      --model m --hf-overrides '{"a": "$$b"}'
      --port ${PORT}
"""


def test_a_compose_file() -> None:
    (server,) = read(COMPOSE, "docker-compose.yml")
    assert [word.text for word in server.arguments] == [
        *("--model", "m", "--hf-overrides", '{"a": "$b"}', "--port", "${PORT}")
    ]
    assert [(each.name, each.value, each.line) for each in server.environment] == [
        ("VLLM_LOGGING_LEVEL", "DEBUG", 6),
        ("HF_TOKEN", None, 7),
    ]
    assert (server.where, server.image) == ("service server", "vllm/vllm-openai:v0.24.0")


MANIFEST = """\
apiVersion: v1
kind: Service
metadata: {name: front}
---
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata:
  name: vllm
spec:
  leaderWorkerTemplate:
    leaderTemplate:
      spec:
        containers:
          - name: leader
            image: vllm/vllm-openai:v0.33.0
            env:
              - name: TP
                value: "8"
              - name: HF_TOKEN
                valueFrom: {secretKeyRef: {name: hf, key: token}}
            command: [sh, -c, "vllm serve m -tp 8 --nnodes 2"]
    workerTemplate:
      spec:
        containers:
          - name: worker
            image: vllm/vllm-openai:v0.33.0
            args:
              - m
              - -tp=$(TP)
              - --port
              - $(UNSET)
"""


def test_a_manifest_of_any_kind() -> None:
    leader, worker = read(MANIFEST, "lws.yaml")
    assert [word.text for word in leader.arguments] == ["m", "-tp", "8", "--nnodes", "2"]
    assert [(each.name, each.value) for each in leader.environment] == [
        ("TP", "8"),
        ("HF_TOKEN", None),
    ]
    assert leader.where == "LeaderWorkerSet/vllm container leader"
    assert [word.text for word in worker.arguments] == ["m", "-tp=$(TP)", "--port", "$(UNSET)"]
    assert worker.kind == "image"
    assert worker.arguments[0].line == 28


def test_texts_of_a_manifest_are_scripts() -> None:
    text = "kind: ConfigMap\ndata:\n  start.sh: |\n    #!/bin/sh\n    vllm serve m --port 80\n"
    (server,) = read(text, "map.yaml")
    assert [word.text for word in server.arguments] == ["m", "--port", "80"]
    assert server.where == "ConfigMap start.sh"


def test_of_prose_only_the_lines_that_start_a_server_are_read() -> None:
    text = (
        "title: It's how vllm serve is started\n"
        "guide: |\n  Don't use vllm serve x --old.\n\n  ```bash\n  A=1 vllm serve m \\\n"
        "    --port 80\n  ```\n  It's done.\n"
    )
    (server,) = read(text, "recipe.yaml")
    assert [word.text for word in server.arguments] == ["m", "--port", "80"]
    assert server.line == 6
    assert [word.line for word in server.arguments] == [6, 7, 7]
    assert server.where == "object guide"


def test_a_here_document_for_another_program_is_no_fault() -> None:
    python = "python3 - <<EOF\nprint('vllm is\\'nt')\nit's = 'vllm\nEOF\n"
    (server,) = read(f"{python}vllm serve m\n", "x.sh")
    assert server.line == 5
    with pytest.raises(InputError, match="is not closed"):
        read(python, "x.sh")


INSTRUCTIONS = st.lists(
    st.sampled_from(
        [
            "FROM a AS b",
            "ARG X=1",
            "ENV A=1 B=2",
            "ENV A 1 \\\n  2",
            "# a comment",
            "RUN echo \\\n# a comment\n  done",
            "RUN <<EOF\nCMD x\nEOF",
            'CMD ["vllm", \\\n  "serve"]',
            "",
            "ENTRYPOINT vllm serve m",
        ]
    ),
    max_size=8,
).map(lambda each: "\n".join(["FROM x", *each]) + "\n")


@given(INSTRUCTIONS)
def test_the_instructions_are_those_of_buildkits_parser(text: str) -> None:
    parser = pytest.importorskip("dockerfile", reason="BuildKit's parser is not installed")
    theirs = [(each.cmd.upper(), each.start_line) for each in parser.parse_string(text)]
    assert [(name, line) for name, _, line in dockerfile._instructions(text)] == theirs


def test_a_manifest_in_a_here_document_is_read_as_one() -> None:
    text = f"NAME=x\ncat <<EOF | kubectl apply -f -\n{MANIFEST}EOF\n"
    worker = read(text, "apply.sh")[1]
    assert worker.arguments[0].line == 28 + 2
    assert [each.where for each in read(text, "apply.sh")] == [
        "LeaderWorkerSet/vllm container leader",
        "LeaderWorkerSet/vllm container worker",
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "docker run --gpus all -e A=1 --env B=2 vllm/vllm-openai:v0.24.0 --model m",
            ["--model", "m"],
        ),
        ("docker run --rm -it --entrypoint vllm vllm/vllm-openai serve m", ["m"]),
        ("podman run -d img.example/ours vllm serve m --port 1", ["m", "--port", "1"]),
        ('docker run x sh -c "vllm serve m -tp 2"', ["m", "-tp", "2"]),
        ("sudo -E env A=1 B=2 vllm serve m", ["m"]),
        ("uv run --with x vllm serve m", ["m"]),
        ("A=1 B=2 bash -lc 'exec vllm serve m'", ["m"]),
        ("nohup vllm serve m > log 2>&1 &", ["m"]),
        ("python3 /app/vllm/entrypoints/openai/api_server.py --model m", ["--model", "m"]),
    ],
)
def test_wrappers(line: str, expected: list[str]) -> None:
    assert texts(read(line, "x.sh")) == expected


@pytest.mark.parametrize(
    "line",
    [
        "echo vllm serve m",
        "vllm bench serve --model m",
        "pip install vllm",
        "docker run --entrypoint sleep vllm/vllm-openai infinity",
        "docker pull vllm/vllm-openai",
        "# vllm serve m",
    ],
)
def test_what_starts_no_server(line: str) -> None:
    assert read(line, "x.sh") == ()


@pytest.mark.parametrize(
    ("name", "text", "form"),
    [
        ("Dockerfile", "", Form.DOCKERFILE),
        ("-", DOCKERFILE, Form.DOCKERFILE),
        ("-", UNIT, Form.SYSTEMD),
        ("-", COMPOSE, Form.COMPOSE),
        ("-", MANIFEST, Form.KUBERNETES),
        ("values.yaml", "a: 1", Form.KUBERNETES),
        ("-", SCRIPT, Form.SHELL),
        ("-", f"cat <<EOF\n{MANIFEST}EOF", Form.SHELL),
    ],
)
def test_the_kind_of_a_file(name: str, text: str, form: Form) -> None:
    assert form_of(text, name) is form


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [", "no YAML"),
        ("a: " + "[" * 5000, "no YAML"),
        ("a: &a [x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n" + "".join(
            f"{name}: &{name} [" + ",".join([f"*{before}"] * 9) + "]\n"
            for before, name in zip("bcdefg", "cdefgh", strict=True)
        ), "aliases"),
    ],
)  # fmt: skip
def test_bad_yaml_is_refused_with_its_name(text: str, said: str) -> None:
    with pytest.raises(InputError, match=rf"x\.yaml: .*{said}"):
        read(text, "x.yaml")


def test_without_pyyaml_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "yaml", None)
    with pytest.raises(InputError, match="PyYAML") as caught:
        read(COMPOSE, "compose.yaml")
    assert caught.value.hint == "pip install 'dsv4-doctor[lint]'"


def test_a_command_line_that_a_shell_has_split() -> None:
    (server,) = documents.of_arguments(["A=1", "vllm", "serve", "m", "--x", "a b"])
    assert [word.text for word in server.arguments] == ["m", "--x", "a b"]
    assert [(each.name, each.value) for each in server.environment] == [("A", "1")]


def test_a_command_line_in_one_text() -> None:
    (server,) = documents.of_arguments(["vllm serve m --x 'a b'"])
    assert [word.text for word in server.arguments] == ["m", "--x", "a b"]
