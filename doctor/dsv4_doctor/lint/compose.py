"""Files of Docker Compose: the services, with their commands and environments."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dsv4_doctor.lint.containers import shell_words, started, words_of
from dsv4_doctor.lint.model import Setting
from dsv4_doctor.lint.yaml_text import line_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.lint.model import Invocation, Word

# Of the private area of Unicode, for a moment.
_DOLLAR = "\ue000"


def invocations(documents: tuple[Any, ...]) -> Iterator[Invocation]:
    """Give the servers that the services start.

    Raises:
        ShellError: A command in one text cannot be split.
    """
    for document in documents:
        services = document.get("services") if isinstance(document, dict) else None
        for name, service in services.items() if isinstance(services, dict) else ():
            if isinstance(service, dict):
                image = service.get("image")
                yield from started(
                    _words(service.get("entrypoint")),
                    _words(service.get("command")),
                    tuple(_environment(service.get("environment"))),
                    image=image if isinstance(image, str) else "",
                    where=f"service {name}",
                    line=line_of(name),
                )


def _words(value: Any) -> tuple[Word, ...]:
    if isinstance(value, str):
        # Compose itself puts variables in; "$$" is a dollar sign that it leaves, also in quotes.
        words = shell_words(value.replace("$$", _DOLLAR), line_of(value))
        return tuple(replace(word, text=word.text.replace(_DOLLAR, "$")) for word in words)
    return words_of(value)


def _environment(value: Any) -> Iterator[Setting]:
    where = "environment of the service"
    if isinstance(value, dict):
        for name, each in value.items():
            yield Setting(str(name), _known(each), line_of(name), where)
    elif isinstance(value, list):
        for each in value:
            if isinstance(each, str):
                name, equals, text = each.partition("=")
                yield Setting(name, _known(text) if equals else None, line_of(each), where)


def _known(value: Any) -> str | None:
    return str(value) if isinstance(value, str) and "${" not in value else None
