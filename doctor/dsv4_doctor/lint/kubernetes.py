"""Manifests of Kubernetes: every object with containers, whatever kind it is.

Other YAML has servers, too: a ConfigMap with a start script, a task of SkyPilot, a workflow, a
piece of a manifest. Every text in it that starts a server is read as a shell text, and every
mapping with a ``command`` as a container. Of prose only the lines that begin with a start are read.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from dsv4_doctor.lint.containers import of_shell, started, words_of
from dsv4_doctor.lint.model import Setting
from dsv4_doctor.lint.shell import ShellError, split
from dsv4_doctor.lint.yaml_text import line_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dsv4_doctor.lint.model import Invocation

_STARTS = re.compile(r"\bvllm serve\b|-m vllm\.entrypoints\.openai\.api_server\b")
# A line that begins with a server's start, with those that continue it.
_LINE = re.compile(
    r"(?m)^[ \t]*(?:\$ )?(?:\w+=\S* )*(?:vllm serve|docker run|python3? -m vllm\.)"
    r"(?:[^\n]*\\\n)*[^\n]*"
)
_LISTS = frozenset({"command", "args"})


def invocations(documents: tuple[Any, ...]) -> Iterator[Invocation]:
    """Give the servers that the containers of all documents start."""
    for document in documents:
        for item in _items(document):
            named = item.get("metadata")
            name = named.get("name", "") if isinstance(named, dict) else ""
            kind = item.get("kind", "object")
            owner = f"{kind}/{name}" if name else str(kind)
            for container in _containers(item):
                yield from _container(container, owner)
            yield from _texts(item, owner)


def _items(document: Any) -> Iterator[Mapping[str, Any]]:
    if not isinstance(document, dict):
        return
    items = document.get("items")
    if isinstance(items, list):
        yield from (each for each in items if isinstance(each, dict))
    else:
        yield document


def _containers(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every container, at whatever depth a kind keeps its pod template."""
    if isinstance(value, list):
        for each in value:
            yield from _containers(each)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key in {"containers", "initContainers"} and isinstance(inner, list):
                yield from (each for each in inner if isinstance(each, dict))
            else:
                yield from _containers(inner)
        if isinstance(value.get("command"), list) and "containers" not in value:
            yield value


def _texts(value: Any, owner: str, key: str = "") -> Iterator[Invocation]:
    """The servers of texts that stand somewhere else than in a container's lists."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name not in _LISTS or isinstance(inner, str):
                yield from _texts(inner, owner, str(name))
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each, owner, key)
    elif isinstance(value, str) and _STARTS.search(value):
        where = f"{owner} {key}".strip()
        for text, line in _scripts(value):
            yield from of_shell(text, (), where=where, line=line_of(value) + line)


def _scripts(value: str) -> Iterator[tuple[str, int]]:
    """What of a text is for a shell: all of a script, of prose the lines that start a server."""
    if "```" not in value:
        with suppress(ShellError):
            split(value)
            yield str(value), 0
            return
    for match in _LINE.finditer(value):
        with suppress(ShellError):
            split(match[0])
            yield match[0], value.count("\n", 0, match.start())


def _container(container: Mapping[str, Any], owner: str) -> Iterator[Invocation]:
    environment = tuple(_environment(container))
    values = {each.name: each.value for each in environment}
    name = container.get("name", "")
    image = container.get("image")
    entry = words_of(container.get("command"), values)
    rest = words_of(container.get("args"), values)
    yield from started(
        entry,
        rest,
        environment,
        image=image if isinstance(image, str) else "",
        where=f"{owner} container {name}" if name else owner,
        line=line_of(name) or (entry[0].line if entry else 0),
    )


def _environment(container: Mapping[str, Any]) -> Iterator[Setting]:
    entries = container.get("env")
    for each in entries if isinstance(entries, list) else ():
        if isinstance(each, dict) and isinstance(each.get("name"), str):
            value = each.get("value", None if "valueFrom" in each else "")
            known = str(value) if isinstance(value, str) else None
            name = each["name"]
            yield Setting(str(name), known, line_of(name), "env of the container")
