"""Values of flags in the form of the knowledge files."""

from __future__ import annotations

from typing import Any

from dsv4_doctor.knowledge.extract.python_eval import Expression, Member
from dsv4_doctor.knowledge.extract.python_modules import ClassRef, FunctionRef

# Names that the functions which turn text into values have had.
_TYPES = {
    "json.loads": "json",
    "nullable_str": "str",
    "nullable_kvs": "str",
    "union_dict_and_str": "str or json",
    "human_readable_int": "size",
    "human_readable_int_or_auto": "size",
}
_PLAIN = frozenset({"int", "float", "str", "bool", "json", "size", "str or json"})
_WRAPPERS = ("optional_type(", "parse_type(", "get_type(")


def type_name(value: Any) -> str:
    """Return what a flag's text is read as; ``str`` where nothing is said, as argparse does.

    ``other`` is a function of vLLM's own.
    """
    if value is None:
        return "str"
    if isinstance(value, FunctionRef):
        return _TYPES.get(value.node.name, "other")
    text = value.text if isinstance(value, Expression) else value
    if not isinstance(text, str):
        return "other"
    while text.startswith(_WRAPPERS):
        text = text.partition("(")[2].removesuffix(")")
    if text in _PLAIN:
        return text
    return _TYPES.get(text, "other")


def plain(value: Any) -> tuple[Any] | None:
    """Return a default in a tuple, as JSON holds it; ``None`` when it is not established.

    An expression is ``{"expression": TEXT}``.
    """
    if isinstance(value, (Expression, ClassRef)):
        return ({"expression": value.text if isinstance(value, Expression) else value.name},)
    if isinstance(value, Member):
        return plain(value.value) if isinstance(value.value, (str, int)) else (value.name,)
    if isinstance(value, (list, tuple)):
        parts = [plain(each) for each in value]
        return None if None in parts else ([each[0] for each in parts if each is not None],)
    if isinstance(value, dict):
        inner = {str(key): plain(each) for key, each in value.items()}
        whole = None not in inner.values()
        return ({key: each[0] for key, each in inner.items() if each},) if whole else None
    return (value,) if value is None or isinstance(value, (bool, int, float, str)) else None


def choices(value: Any) -> list[str] | None:
    """Return the values that a flag takes, as they are written on a command line."""
    found = plain(value)
    if found is None or not isinstance(found[0], list):
        return None
    texts = [each for each in found[0] if each is not None]
    if not all(isinstance(each, (str, int, float)) for each in texts):
        return None
    return list(dict.fromkeys(str(each) for each in texts))
