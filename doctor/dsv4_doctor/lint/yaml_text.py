"""YAML with the line of every text, read by PyYAML where that is installed.

PyYAML has a reader in pure Python and may be had without a compiler; it is an extra, because only
`lint` needs it, and only for files of Compose, Kubernetes and for ``--config``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dsv4_doctor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

# What is nested deeper is no manifest, and aliases can make a small file endless.
_DEPTH = 40
_NODES = 200_000


class Text(str):
    """A text that knows its line, counted from 1."""

    __slots__ = ("line",)
    line: int

    @classmethod
    def at(cls, text: str, line: int) -> Text:
        """Return a text at a line."""
        made = cls(text)
        made.line = line
        return made


def line_of(value: object) -> int:
    """Return the line of a text of a YAML file, 0 for what is none."""
    return value.line if isinstance(value, Text) else 0


def documents(text: str, name: str) -> tuple[Any, ...]:
    """Return the documents of a YAML file: mappings, lists, texts with their line, and ``None``.

    Numbers and truth values stay the texts that they are in the file.

    Raises:
        InputError: PyYAML is not installed, or the text is no YAML.
    """
    try:
        import yaml  # noqa: PLC0415 - an extra
    except ImportError as error:
        msg = f"{name}: to read YAML, lint needs PyYAML, which is not installed"
        raise InputError(msg, hint="pip install 'dsv4-doctor[lint]'") from error
    try:
        nodes = list(yaml.compose_all(text, Loader=yaml.SafeLoader))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split()) or "nested too deep"
        msg = f"{name}: no YAML: {reason}"
        raise InputError(msg) from error
    left = [_NODES]
    return tuple(_plain(node, name, _DEPTH, left) for node in nodes if node is not None)


def _plain(node: Any, name: str, depth: int, left: list[int]) -> Any:
    left[0] -= 1
    if not depth or left[0] < 0:
        msg = f"{name}: nested too deep, or too large when its aliases are written out"
        raise InputError(msg)
    if isinstance(node.value, str):
        if node.tag == "tag:yaml.org,2002:null":
            return None
        # The text of a block begins on the line after its "|".
        below = node.style in {"|", ">"}
        return Text.at(node.value, node.start_mark.line + 1 + below)
    if node.id == "sequence":
        return [_plain(each, name, depth - 1, left) for each in node.value]
    return dict(_pairs(node, name, depth, left))


def _pairs(node: Any, name: str, depth: int, left: list[int]) -> Iterator[tuple[str, Any]]:
    for key, value in node.value:
        plain = _plain(value, name, depth - 1, left)
        if key.tag == "tag:yaml.org,2002:merge":
            for each in plain if isinstance(plain, list) else [plain]:
                yield from each.items() if isinstance(each, dict) else ()
        elif isinstance(key.value, str):
            yield Text.at(key.value, key.start_mark.line + 1), plain
