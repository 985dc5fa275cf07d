"""What the README and the documents tell people to type exists."""

from __future__ import annotations

import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest
import typer

from dsv4_doctor.cli.main import COMMANDS, run

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "CONTRIBUTING.md")
TYPED = re.compile(r"^ {4}(dsv4-doctor .*|\./scripts/\S+.*)$", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")


def typed() -> list[str]:
    lines = [line for page in PAGES for line in TYPED.findall(page.read_text(encoding="utf-8"))]
    return [line.split("  #")[0].strip() for line in lines]


@pytest.mark.parametrize("line", sorted(set(typed())))
def test_a_command_that_is_shown_exists(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = shlex.split(line)
    if words[0].startswith("./scripts/"):
        assert (ROOT / words[0]).exists()
        return
    assert words[1] in COMMANDS
    module, _, function = COMMANDS[words[1]].partition(":")
    grouped = isinstance(getattr(import_module(module), function), typer.Typer)
    named = words[1:3] if grouped and len(words) > 2 else words[1:2]
    assert run([*named, "--help"]) == 0
    known = capsys.readouterr().out
    for word in words[2:]:
        if word.startswith("--"):
            assert re.search(rf"{re.escape(word)}\b", known), f"{words[1]} has no {word}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_link_leads_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
