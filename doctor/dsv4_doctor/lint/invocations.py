"""Where in a command line a server of vLLM is started, and with what."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from dsv4_doctor.lint.model import Invocation, Setting, Word
from dsv4_doctor.lint.shell_commands import commands

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_MODULE = "vllm.entrypoints.openai.api_server"
_SCRIPT = "vllm/entrypoints/openai/api_server.py"
# Of the images that the project publishes, those that start the server; its router does not.
_IMAGE = re.compile(r"(?:^|/)vllm(?:-(?:openai|cpu|rocm|tpu|xpu|hpu|neuron)[-\w]*)?(?:[:@]|$)")
_ENGINES = frozenset({"docker", "podman", "nerdctl"})
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ash"})
# They only speak of a command.
_SPEAKERS = frozenset({"echo", "printf", "grep", "pkill", "pgrep", "which", "man", "cat", "alias"})
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_TAG = re.compile(r":v?(\d+\.\d+\.\d+(?:\.post\d+)?)(?:[-+@]|$)")
# Options of `docker run` that stand alone; every other one takes the next word.
_ALONE = frozenset(
    {
        *("-d", "--detach", "-i", "--interactive", "-t", "--tty", "-it", "-ti", "-dit", "-itd"),
        *("--rm", "--privileged", "--init", "--read-only", "-P", "--publish-all", "-q", "--quiet"),
        *("--no-healthcheck", "--oom-kill-disable", "--sig-proxy", "--replace", "--tls-verify"),
    }
)
_DEPTH = 4


def release_of_image(image: str) -> str:
    """Return the release that the tag of an image names, empty when it names none."""
    match = _TAG.search(image)
    return match[1] if match else ""


def in_text(text: str, known: Mapping[str, str] | None = None) -> tuple[Invocation, ...]:
    """Return every start of a server in a shell text.

    Raises:
        ShellError: The text cannot be read.
    """
    return tuple(_in_text(text, known, 0))


def _in_text(text: str, known: Mapping[str, str] | None, depth: int) -> Iterator[Invocation]:
    for each in commands(text, known):
        for found in _in_words(each.words, depth):
            line = found.line or each.line
            yield replace(found, line=line, environment=(*each.environment, *found.environment))


def in_words(words: Sequence[Word]) -> tuple[Invocation, ...]:
    """Return every start of a server in one command that no shell splits any more."""
    return tuple(_in_words(words, 0))


def _in_words(words: Sequence[Word], depth: int) -> Iterator[Invocation]:
    if not words or _name(words[0]) in _SPEAKERS:
        return
    start = _started(words)
    if start is not None:
        yield start
        return
    engine = next((i for i, word in enumerate(words) if _name(word) in _ENGINES), None)
    if engine is not None:
        yield from _container(words, engine, depth)
    elif depth < _DEPTH:
        yield from _inner_shell(words, depth)


def _name(word: Word) -> str:
    return word.text.rpartition("/")[2]


def _started(words: Sequence[Word]) -> Invocation | None:
    """The start of a server by ``vllm serve`` or by the older module, wherever it stands."""
    for at, word in enumerate(words):
        following = words[at + 1].text if at + 1 < len(words) else ""
        if _name(word) == "vllm" and following == "serve":
            return _invocation(words, at, at + 2, module=False)
        if (word.text == "-m" and following == _MODULE) or word.text.endswith(_SCRIPT):
            return _invocation(words, at, at + (2 if word.text == "-m" else 1), module=True)
    return None


def _invocation(words: Sequence[Word], at: int, after: int, *, module: bool) -> Invocation:
    before = words[: at + 1]
    settings = tuple(
        Setting(match[1], match[2] if word.literal else None, word.line, "the command")
        for word in before
        if (match := _ASSIGNMENT.fullmatch(word.text)) and not word.text.startswith("-")
    )
    return Invocation(
        arguments=tuple(words[after:]),
        environment=settings,
        program=tuple(
            word.shell() for word in words[:after] if not _ASSIGNMENT.fullmatch(word.text)
        ),
        kind="module" if module else "serve",
        line=words[at].line,
    )


def _container(words: Sequence[Word], engine: int, depth: int) -> Iterator[Invocation]:
    """The server of ``docker run``: by the entry point of the image, or by a command after it."""
    run = next((i for i in range(engine, len(words)) if words[i].text == "run"), None)
    if run is None:
        return
    settings: list[Setting] = []
    entry: Word | None = None
    at = run + 1
    while at < len(words) and (words[at].text.startswith("-") or not words[at].text):
        name, equals, value = words[at].text.partition("=")
        word = replace(words[at], text=value)
        alone = name in _ALONE or (not name.startswith("--") and len(name) > 2 and not equals)
        if not equals and not alone and at + 1 < len(words):
            at += 1
            word = words[at]
        if name in {"-e", "--env"}:
            settings.append(_set(word))
        elif name == "--entrypoint":
            entry = word
        at += 1
    if at >= len(words):
        return
    image, rest = words[at].text, words[at + 1 :]
    yield from _of_image(image, entry, rest, tuple(settings), words[at].line, depth)


def _of_image(  # noqa: PLR0913, PLR0917 - what a container is made of
    image: str,
    entry: Word | None,
    rest: Sequence[Word],
    settings: tuple[Setting, ...],
    line: int,
    depth: int,
) -> Iterator[Invocation]:
    whole = (entry, *rest) if entry is not None and entry.text else rest
    inside = list(_in_words(whole, depth + 1)) if depth < _DEPTH else []
    for each in inside:
        yield replace(each, image=image, environment=(*settings, *each.environment))
    if not inside and (entry is None or not entry.text) and brings_server(image):
        yield Invocation(tuple(rest), settings, (), "image", line=line, image=image)


def brings_server(image: str) -> bool:
    """Whether the entry point of an image is vLLM's server, as of ``vllm/vllm-openai``."""
    return bool(_IMAGE.search(image))


def _set(word: Word) -> Setting:
    name, equals, value = word.text.partition("=")
    known = bool(equals) and word.literal
    return Setting(name, value if known else None, word.line, "the container")


def _inner_shell(words: Sequence[Word], depth: int) -> Iterator[Invocation]:
    """What ``bash -c TEXT`` runs, wherever that stands in the command."""
    for at, word in enumerate(words):
        if _name(word) not in _SHELLS:
            continue
        for option in range(at + 1, len(words) - 1):
            text = words[option].text
            if not text.startswith("-"):
                break
            if not text.startswith("--") and text.endswith("c"):
                script = words[option + 1]
                for each in _in_text(script.text, None, depth + 1):
                    yield replace(each, line=script.line)
                return
