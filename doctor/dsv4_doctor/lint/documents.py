"""Which kind of file a text is, and the servers that it starts."""

from __future__ import annotations

import re
from enum import Enum
from pathlib import PurePath
from typing import TYPE_CHECKING

from dsv4_doctor.errors import InputError
from dsv4_doctor.lint.invocations import in_text, in_words
from dsv4_doctor.lint.model import Word
from dsv4_doctor.lint.shell import ShellError, split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsv4_doctor.lint.model import Invocation


class Form(str, Enum):
    """Kinds of files that start a server."""

    SHELL = "shell"
    DOCKERFILE = "dockerfile"
    COMPOSE = "compose"
    KUBERNETES = "kubernetes"
    SYSTEMD = "systemd"


_SERVER = re.compile(r"\bvllm\b")
_FROM = re.compile(r"(?mi)^\s*FROM\s+\S+")
_INSTRUCTIONS = re.compile(r"(?mi)^\s*(?:CMD|ENTRYPOINT|RUN|ENV)\s")
_SERVICE = re.compile(r"(?m)^\[Service\]\s*$")
_KIND = re.compile(r"(?m)^(?:apiVersion|kind):")
_HERE = re.compile(r"<<-?\s*['\"]?\w+['\"]?")
_SERVICES = re.compile(r"(?m)^services:\s*$")
# The first line that says something: of YAML a key, an item or the start of a document.
_YAML = re.compile(r"(?:\s*(?:#[^\n]*)?\n)*(?:---|- |[A-Za-z_][-\w]*:(?:\s|$))")


def form_of(text: str, name: str) -> Form:
    """Return which kind of file a text is, by its name and by what stands in it."""
    base = PurePath(name).name.lower()
    if base.startswith(("dockerfile", "containerfile")) or base.endswith(".dockerfile"):
        return Form.DOCKERFILE
    if base.endswith(".service") or (_SERVICE.search(text) and not _HERE.search(text)):
        return Form.SYSTEMD
    yaml = base.endswith((".yaml", ".yml"))
    if _YAML.match(text) or (yaml and not _HERE.search(text)):
        if _SERVICES.search(text):
            return Form.COMPOSE
        if _KIND.search(text) or yaml:
            return Form.KUBERNETES
    if _FROM.search(text) and _INSTRUCTIONS.search(text):
        return Form.DOCKERFILE
    return Form.SHELL


def read(text: str, name: str, form: Form | None = None) -> tuple[Invocation, ...]:
    """Return the servers that a file starts.

    Args:
        text: Its content.
        name: Its path, for messages and to tell its kind.
        form: Its kind, ``None`` to tell it by name and content.

    Raises:
        InputError: It cannot be read as what it is.
    """
    try:
        return tuple(_read(text, name, form or form_of(text, name)))
    except ShellError as error:
        msg = f"{name}: {error}"
        raise InputError(msg) from error


def _read(text: str, name: str, form: Form) -> Sequence[Invocation]:
    # Each reader is loaded only for its own files.
    if form is Form.SHELL:
        return _in_script(text, name)
    if form is Form.DOCKERFILE:
        from dsv4_doctor.lint import dockerfile  # noqa: PLC0415

        return dockerfile.invocations(text)
    if form is Form.SYSTEMD:
        from dsv4_doctor.lint import systemd  # noqa: PLC0415

        return systemd.invocations(text)
    from dsv4_doctor.lint.yaml_text import documents  # noqa: PLC0415

    if form is Form.COMPOSE:
        from dsv4_doctor.lint import compose  # noqa: PLC0415

        return tuple(compose.invocations(documents(text, name)))
    from dsv4_doctor.lint import kubernetes  # noqa: PLC0415

    return tuple(kubernetes.invocations(documents(text, name)))


def _in_script(text: str, name: str) -> tuple[Invocation, ...]:
    """The servers of a script, and of what it writes or feeds to a program, such as a manifest."""
    found = list(in_text(text))
    refused: list[InputError | ShellError] = []
    for each in split(text).here:
        if not _SERVER.search(each.text):
            continue
        form = form_of(each.text, "")
        where = f"{name}: the here-document of line {each.line}"
        try:
            inside = _read(each.text, where, form)
        except (InputError, ShellError) as error:
            # It may be for another program: a fault only where nothing else starts a server.
            refused.append(error)
            continue
        found += [one.moved(each.line - 1) for one in inside]
    if refused and not found:
        raise refused[0]
    return tuple(found)


def of_arguments(arguments: Sequence[str]) -> tuple[Invocation, ...]:
    """Return the servers that a command line starts that a shell has already split."""
    if len(arguments) == 1 and any(sign.isspace() for sign in arguments[0]):
        return read(arguments[0], "the command line", Form.SHELL)
    try:
        return in_words([Word(each) for each in arguments])
    except ShellError as error:
        msg = f"the command line: {error}"
        raise InputError(msg) from error
