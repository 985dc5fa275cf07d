#!/usr/bin/env python3
"""Holds every ``vllm serve`` of vLLM's own documentation against the release that it is of.

    scripts/lint_upstream_docs.py RELEASE=TREE [RELEASE=TREE …]

TREE is an unpacked source distribution. What lint finds there is either a fault of lint, or one
of the documentation, and then it is explained in ``lint_upstream_docs.json``. The exit status is 1
when something is found that is not explained, or explained and not found.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.errors import InputError
from dsv4_doctor.knowledge.flags import flags_of
from dsv4_doctor.lint import documents
from dsv4_doctor.lint.linting import judge
from dsv4_doctor.lint.subject import Against

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.lint.linting import Server

EXPLAINED = Path(__file__).with_suffix(".json")
_FENCE = re.compile(r"^(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,})(?P<info>[^\n`]*)\n", re.MULTILINE)
_INLINE = re.compile(r"(?<!`)`((?:[A-Z][A-Z0-9_]*=\S+ )*vllm serve [^`\n]+)`(?!`)")
_SERVES = re.compile(
    r"""vllm["',]*\s+(?:-\s+)?["']?serve|entrypoints\.openai\.api_server|/vllm-(?:openai|cpu)"""
)
_SHELLS = frozenset({"", "bash", "sh", "shell", "console", "text", "zsh"})
# What a reader has to fill in is no word that could be judged.
_PLACEHOLDERS = (
    (re.compile(r"<[A-Za-z][^<>\n|&;]*>"), "$FILL_IN"),
    (re.compile(r"\$\{your [^}\n]*\}|\{your [^}\n]*\}"), "$FILL_IN"),
    (re.compile(r"(?<=\s)(?:\.\.\.|…)(?=\s|\\|$)"), "$AND_SO_ON"),
    (re.compile(r"(?:other )?vLLM OpenAI server arguments"), "$AND_SO_ON"),
    (re.compile(r"\[(?:OPTIONS|options|args)[^\]\n]*\]"), "$AND_SO_ON"),
)
# A page that is about a flag often leaves the model out.
_PART = "lint.model.none"
_LEFT_OUT = re.compile(r"(?m)^[ \t]*\.\.\.[ \t]*$")


@dataclass(frozen=True)
class Example:
    """One text of a page that starts a server."""

    text: str
    file: str
    line: int
    language: str


def examples(tree: Path) -> Iterator[Example]:
    """Give every block and every piece of code in a line that starts a server."""
    for path in sorted((tree / "docs").rglob("*.md")):
        text = path.read_text(encoding="utf-8", errors="replace")
        name = str(path.relative_to(tree))
        outside, blocks = _split(text, name)
        yield from (each for each in blocks if _SERVES.search(each.text))
        for match in _INLINE.finditer(outside):
            yield Example(match[1], name, outside.count("\n", 0, match.start()) + 1, "bash")


def _split(text: str, name: str) -> tuple[str, list[Example]]:
    """The text without its blocks, whose lines stay, and the blocks."""
    blocks, outside, at = [], [], 0
    while (match := _FENCE.search(text, at)) is not None:
        end = re.compile(rf"^[ \t]*{re.escape(match['fence'])}[ \t]*$", re.MULTILINE)
        close = end.search(text, match.end())
        stop = close.start() if close else len(text)
        body = textwrap.dedent(text[match.end() : stop].expandtabs())
        language = match["info"].strip().partition(" ")[0].lower()
        line = text.count("\n", 0, match.end()) + 1
        blocks.append(Example(body, name, line, language))
        after = close.end() if close else len(text)
        outside += [text[at : match.start()], "\n" * text.count("\n", match.start(), after)]
        at = after
    return "".join((*outside, text[at:])), blocks


def _servers(example: Example, against: Against) -> Iterator[Server]:
    text = example.text
    form = documents.form_of(text, f"page.{example.language}")
    if form is documents.Form.SHELL:
        if example.language not in _SHELLS:
            return
        text = re.sub(r"(?m)^\s*\$ ", "", text)
        for pattern, instead in _PLACEHOLDERS:
            text = pattern.sub(instead, text)
    else:
        text = _LEFT_OUT.sub("", text)
    for each in documents.read(text, f"{example.file}:{example.line}", form):
        yield judge(each, against)


def check(release: str, tree: Path) -> tuple[list[dict[str, str]], list[str], int, int]:
    """Return what was found, what could not be read, and the numbers of servers and of options."""
    against = Against(release, flags_of(release))
    found: list[dict[str, str]] = []
    unread: list[str] = []
    servers = options = 0
    for example in examples(tree):
        judged, reason = _judged(example, against)
        unread += [f"{release} {reason}"] if reason else []
        for server in judged:
            servers += 1
            options += server.flags
            found += _findings(server, example, release)
    return found, unread, servers, options


def _judged(example: Example, against: Against) -> tuple[list[Server], str]:
    """The servers of an example, or why it could not be read."""
    try:
        return list(_servers(example, against)), ""
    except InputError as error:
        return [], str(error)


def _findings(server: Server, example: Example, release: str) -> list[dict[str, str]]:
    return [
        {
            "release": release,
            "file": example.file,
            "line": str(example.line + max(server.line - 1, 0)),
            "id": problem.id,
            "subject": problem.subject,
            "title": problem.title,
        }
        for problem in server.problems
        if problem.status != "unknown" and problem.id != _PART
    ]


def main(arguments: list[str]) -> int:
    """Print what was found, and the numbers; the exit status says whether all is explained."""
    explained = json.loads(EXPLAINED.read_text(encoding="utf-8"))
    open_ = {(e["release"], e["file"], e["id"], e["subject"]): e["why"] for e in explained}
    releases, seen, status = set(), set(), 0
    for argument in arguments:
        release, _, tree = argument.partition("=")
        releases.add(release)
        found, unread, servers, options = check(release, Path(tree))
        for each in found:
            key = (each["release"], each["file"], each["id"], each["subject"])
            seen.add(key)
            if key not in open_:
                status = 1
                print(f"{release} {each['file']}:{each['line']}: {each['id']}: {each['title']}")
        for line in unread:
            status = 1
            print(f"not read: {line}")
        print(f"{release}: {servers} servers with {options} options, {len(found)} findings")
    for key in sorted(key for key in open_ if key[0] in releases and key not in seen):
        status = 1
        print(f"explained and not found: {' '.join(key)}")
    return status


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
