"""The file of ``--config``: vLLM puts what it says before the words of the command line.

Source: ``_pull_args_from_config`` and ``load_config_file`` in ``vllm/utils/argparse_utils.py``.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dsv4_doctor.lint.model import Word
from dsv4_doctor.lint.yaml_text import documents, line_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from dsv4_doctor.knowledge.flags import ServeFlag

_CONFIG = "--config"
_MAX_SIZE = 1 << 20
_TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def named(words: Sequence[Word]) -> Word | None:
    """Return the word that names the file, ``None`` where none is given as vLLM looks for it."""
    texts = [word.text for word in words]
    if _CONFIG not in texts:
        return None
    at = texts.index(_CONFIG) + 1
    return words[at] if at < len(words) and words[at].literal else None


def words_of(path: Path, flags: Mapping[str, ServeFlag]) -> tuple[Word, ...]:
    """Return the words that a file stands for.

    Raises:
        InputError: It is no YAML, or PyYAML is not installed.
        OSError: It cannot be read.
    """
    if path.stat().st_size > _MAX_SIZE:
        msg = f"{path}: too large for a configuration"
        raise OSError(msg)
    found = documents(path.read_text(encoding="utf-8", errors="replace"), str(path))
    content = found[0] if found and isinstance(found[0], dict) else {}
    return tuple(word for key, value in content.items() for word in _words(key, value, flags))


def _words(key: str, value: Any, flags: Mapping[str, ServeFlag]) -> Iterator[Word]:
    line = line_of(key)
    name = f"--{key}"
    flag = flags.get(name.replace("_", "-"))
    truth = _TRUTH.get(value.lower()) if isinstance(value, str) else None
    if truth is not None and (flag is None or flag.type in {"bool", "switch"}):
        if truth:
            yield Word(name, line)
        elif flag is not None and flag.negatives:
            yield Word(flag.negatives[0], line)
    elif isinstance(value, list):
        yield from (Word(str(each), line) for each in ([name, *value] if value else ()))
    else:
        yield Word(name, line)
        text = json.dumps(_typed(value)) if isinstance(value, dict) else str(value)
        yield Word(text, line)


def _typed(value: Any) -> Any:
    """Return texts of a YAML file as what YAML takes them for, which JSON has to say."""
    if isinstance(value, dict):
        return {str(key): _typed(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_typed(each) for each in value]
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return _TRUTH.get(value.lower(), str(value))
