"""Dockerfiles: what the last stage starts, with ENV, ARG and both forms of CMD and ENTRYPOINT.

The grammar is that of https://docs.docker.com/reference/dockerfile/.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dsv4_doctor.lint.containers import of_shell, started
from dsv4_doctor.lint.invocations import release_of_image
from dsv4_doctor.lint.model import Invocation, Setting, Word

if TYPE_CHECKING:
    from collections.abc import Iterator

_INSTRUCTION = re.compile(r"\s*([A-Za-z]+)\s+(.*)", re.DOTALL)
_PAIR = re.compile(
    r"""([A-Za-z_][A-Za-z0-9_]*)=((?:"(?:\\.|[^"\\])*"|'[^']*'|\\.|[^\s"'\\])*)""", re.DOTALL
)
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)(?::-([^}]*))?\}|([A-Za-z_]\w*))")
_PIN = re.compile(r"\bvllm(?:\[[^\]]*\])?==(\d+\.\d+\.\d+(?:\.post\d+)?)")
_HERE = re.compile(r"<<-?\s*[\"']?([A-Za-z_]\w*)[\"']?")


@dataclass
class _Stage:
    image: str = ""
    values: dict[str, str | None] = field(default_factory=dict)
    environment: dict[str, Setting] = field(default_factory=dict)
    entry: tuple[str, str, int] | None = None
    command: tuple[str, str, int] | None = None
    packages: str = ""


def invocations(text: str) -> tuple[Invocation, ...]:
    """Return the server that the last stage starts.

    Raises:
        ShellError: A command in shell form cannot be read.
    """
    stages: dict[str, _Stage] = {}
    stage = outside = _Stage()
    for name, rest, line in _instructions(text):
        if name == "FROM":
            stage = _from(rest, stages, outside)
        else:
            _take(stage, name, rest, line)
    return tuple(_started(stage))


def _instructions(text: str) -> Iterator[tuple[str, str, int]]:
    """Give every instruction with its rest, continuations joined and comments left out."""
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        start, whole = at, ""
        while at < len(lines):
            line = lines[at]
            at += 1
            if not line.strip() or line.lstrip().startswith("#"):
                if not whole:
                    start = at
                continue
            whole += line
            if not line.rstrip().endswith("\\"):
                break
            # The lines stay, so that a word can be found again.
            whole = whole.rstrip()[:-1] + "\\\n"
        match = _INSTRUCTION.fullmatch(whole)
        if match is None:
            continue
        here = _HERE.findall(match[2]) if match[1].upper() in {"RUN", "COPY", "ADD"} else []
        for delimiter in here:
            while at < len(lines) and lines[at].strip() != delimiter:
                at += 1
            at += 1
        yield match[1].upper(), match[2], start + 1


def _from(rest: str, stages: dict[str, _Stage], outside: _Stage) -> _Stage:
    words = [each for each in rest.split() if not each.startswith("--")]
    image = _put(words[0], outside.values)[0] if words else ""
    base = stages.get(image.lower())
    stage = (
        _Stage(
            base.image,
            dict(base.values),
            dict(base.environment),
            base.entry,
            base.command,
            base.packages,
        )
        if base is not None
        else _Stage(image)
    )
    if len(words) >= 3 and words[1].upper() == "AS":
        stages[words[2].lower()] = stage
    # An ARG before the first FROM holds inside only where it is named again.
    stage.values = {**{f"\0{key}": value for key, value in outside.values.items()}, **stage.values}
    return stage


def _take(stage: _Stage, name: str, rest: str, line: int) -> None:
    if name == "ARG":
        key, equals, text = rest.strip().partition("=")
        stage.values[key] = (
            _put(_bare(text), stage.values)[0] if equals else stage.values.get(f"\0{key}")
        )
    elif name == "ENV":
        for key, value in _pairs(rest):
            put, known = _put(value, stage.values)
            stage.values[key] = put if known else None
            stage.environment[key] = Setting(key, put if known else None, line, "ENV")
    elif name == "ENTRYPOINT":
        stage.entry, stage.command = (name, rest, line), None
    elif name == "CMD":
        stage.command = (name, rest, line)
    elif name == "RUN":
        pinned = _PIN.search(_put(rest, stage.values)[0])
        stage.packages = pinned[1] if pinned else stage.packages


def _pairs(rest: str) -> Iterator[tuple[str, str]]:
    found = list(_PAIR.finditer(rest))
    if found and rest.lstrip().startswith(found[0][0][:1]) and "=" in rest.split(maxsplit=1)[0]:
        yield from ((match[1], _bare(match[2])) for match in found)
    else:
        # The old form, ENV NAME the rest of the line.
        key, _, value = rest.strip().partition(" ")
        yield key, value.strip()


def _bare(text: str) -> str:
    return re.sub(r"""\\(.)|["']""", lambda match: match[1] or "", text.strip())


def _put(text: str, values: dict[str, str | None]) -> tuple[str, bool]:
    """Put variables in; the second value says whether all of them were known."""
    known = True

    def value(match: re.Match[str]) -> str:
        nonlocal known
        found = values.get(match[1] or match[3])
        found = match[2] if found is None else found
        known = known and found is not None
        return match[0] if found is None else found

    return _VARIABLE.sub(value, text), known


def _started(stage: _Stage) -> Iterator[Invocation]:
    environment = tuple(stage.environment.values())
    entry, command = stage.entry, stage.command
    if entry is None and command is None:
        return
    shell = next((each for each in (entry, command) if each and _exec(each[1]) is None), None)
    if shell is not None:
        # A shell form runs through `sh -c`; what CMD adds to such an ENTRYPOINT is not seen.
        chosen = entry if entry is not None else shell
        found = _in_shell(chosen, shell, environment)
    else:
        found = started(
            _words(entry),
            _words(command),
            environment,
            image=stage.image,
            where=_named(entry, command),
        )
    for each in found:
        yield replace(
            each, image=stage.image, packages=stage.packages or release_of_image(stage.image)
        )


def _in_shell(
    chosen: tuple[str, str, int], shell: tuple[str, str, int], environment: tuple[Setting, ...]
) -> tuple[Invocation, ...]:
    parsed = _exec(chosen[1])
    text = chosen[1] if parsed is None else " ".join(map(json.dumps, (*parsed, shell[1])))
    return of_shell(text, environment, where=chosen[0], line=chosen[2])


def _named(entry: tuple[str, str, int] | None, command: tuple[str, str, int] | None) -> str:
    return " and ".join(each[0] for each in (entry, command) if each is not None)


def _exec(rest: str) -> list[str] | None:
    """The words of the exec form, ``None`` for the shell form."""
    try:
        value = json.loads(rest.replace("\\\n", "\n"))
    except (ValueError, RecursionError):
        return None
    strings = isinstance(value, list) and all(isinstance(each, str) for each in value)
    return value if strings else None


def _words(instruction: tuple[str, str, int] | None) -> tuple[Word, ...]:
    if instruction is None:
        return ()
    _, rest, line = instruction
    lines = rest.split("\\\n")
    at, found = 0, []
    for text in _exec(rest) or ():
        # Which of the instruction's lines a word is in.
        wanted = json.dumps(text, ensure_ascii=False)
        at = next((i for i in range(at, len(lines)) if wanted in lines[i]), at)
        found.append(Word(text, line + at))
    return tuple(found)
