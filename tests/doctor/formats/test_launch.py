"""Plans as files: each is read back by its own kind's rules and gives the same command."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.launch import configs

from dsv4_doctor.formats import launch_compose, launch_shell, launch_systemd
from dsv4_doctor.launch.plan import Plan
from dsv4_doctor.launch.planning import plan
from dsv4_doctor.launch.serving import serving
from dsv4_doctor.lint import documents

MADE = plan(configs.source(configs.FLASH), configs.machine(), serving("0.33.0"), "latency")
REFUSED = plan(
    configs.source(configs.FLASH), configs.machine(arch="sm_80"), serving("0.33.0"), "latency"
)
NAMES = {"shell": "start.sh", "compose": "compose.yaml", "systemd": "vllm.service"}
FORMATS: dict[str, Any] = {
    "shell": launch_shell, "compose": launch_compose, "systemd": launch_systemd,
}  # fmt: skip


def named(name: str) -> Plan:
    return replace(MADE, argv=(*MADE.argv[:2], name, *MADE.argv[3:]))


def read_back(kind: str, made: Plan) -> list[str]:
    [found] = documents.read(FORMATS[kind].render(made), NAMES[kind])
    return [each.text for each in found.arguments]


@pytest.mark.parametrize("kind", sorted(FORMATS))
def test_lint_reads_the_same_command(kind: str) -> None:
    assert read_back(kind, MADE) == list(MADE.argv[2:])


@pytest.mark.parametrize("kind", sorted(FORMATS))
@pytest.mark.parametrize("name", ["a b", "it's", 'a"b', "50%n", "#x", "a: b", "ä", "\\x41"])
def test_a_name_stays_what_it_is(kind: str, name: str) -> None:
    assert read_back(kind, named(name))[0] == name


@pytest.mark.parametrize("kind", sorted(FORMATS))
def test_a_dollar_is_no_variable(kind: str) -> None:
    text = FORMATS[kind].render(named("/m/$HOME"))
    assert {"shell": "'/m/$HOME'", "compose": "/m/$$HOME", "systemd": "/m/$$HOME"}[kind] in text


@given(st.text(min_size=1, max_size=20))
def test_any_name_is_one_word_of_yaml(name: str) -> None:
    made = yaml.safe_load(launch_compose.render(named(name)))
    assert made["services"]["vllm"]["command"][0] == name.replace("$", "$$")


@given(st.text(min_size=1, max_size=20))
def test_no_name_ends_the_line_of_a_unit(name: str) -> None:
    text = launch_systemd.render(named(name))
    assert len(text.splitlines()) == len(launch_systemd.render(MADE).splitlines())
    assert text.isascii() or text.replace("\n", "").isprintable()


def test_a_compose_file_asks_for_the_gpus_and_mounts_a_directory() -> None:
    found = yaml.safe_load(launch_compose.render(named("/models/flash")))["services"]["vllm"]
    assert found["image"] == "vllm/vllm-openai:v0.33.0"
    [device] = found["deploy"]["resources"]["reservations"]["devices"]
    assert device["count"] == 8
    assert "/models/flash:/models/flash:ro" in found["volumes"]


@pytest.mark.parametrize("kind", sorted(FORMATS))
def test_a_refusal_is_a_comment(kind: str) -> None:
    lines = FORMATS[kind].render(REFUSED).splitlines()
    assert any(each.startswith("# ") and "compute capability" in each for each in lines)
    assert all(each.startswith("#") or each == "exit 1" for each in lines)
