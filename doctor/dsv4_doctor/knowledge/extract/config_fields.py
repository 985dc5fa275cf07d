"""Fields of a tree's configuration classes, as the arguments that vLLM makes of them.

Newer releases declare most flags by the fields of dataclasses: ``get_kwargs`` of
``vllm/engine/arg_utils.py`` turns each into the keywords of ``add_argument``. This does the same,
from the text.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dsv4_doctor.knowledge.extract.python_eval import UNKNOWN, Expression, Scope
from dsv4_doctor.knowledge.extract.type_hints import Hint, hints

if TYPE_CHECKING:
    from dsv4_doctor.knowledge.extract.python_eval import Evaluator
    from dsv4_doctor.knowledge.extract.python_modules import ClassRef, FunctionRef

# The key under which the keywords of an argument carry the field that they were made from.
FIELD = "field of a class"
BOOLEAN = Expression("argparse.BooleanOptionalAction")
_DATACLASSES = ("config", "dataclass")


@dataclass(frozen=True)
class ConfigField:
    """A field of a dataclass.

    Attributes:
        of: The class that has it, which may inherit it.
        hints: The alternatives of its type.
        doc: The text under it.
    """

    name: str
    of: ClassRef
    default: Any
    hints: tuple[Hint, ...]
    doc: str
    file: str
    line: int

    @property
    def config(self) -> ClassRef | None:
        """The dataclass that its value is, for a field that holds one."""
        return next((each.of for each in self.hints if _is_dataclass(each)), None)


@dataclass(frozen=True)
class Manner:
    """What ``get_kwargs`` of a release does otherwise than in others.

    Attributes:
        open_literals: A literal beside ``str`` is a suggestion.
        optional_text: A field that is bool or text takes an optional value.
        sizes: Fields whose integers may be written as ``1k``.
    """

    open_literals: bool
    optional_text: bool
    sizes: frozenset[str]

    @staticmethod
    def of(functions: list[FunctionRef]) -> Manner:
        """Read it from the functions that make keywords of fields."""
        texts: set[Any] = set()
        names: set[str] = set()
        for function in functions:
            for node in ast.walk(function.node):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    texts.add(node.value)
                elif isinstance(node, ast.Name):
                    names.add(node.id)
        sizes = texts if "human_readable_int" in names else set()
        return Manner("metavar" in texts, "const" in texts, frozenset(sizes))


def fields(evaluator: Evaluator, of: ClassRef) -> list[ConfigField]:
    """Return the fields of a dataclass, those that it inherits first."""
    found: dict[str, ConfigField] = {}
    for each in reversed(evaluator.modules.ancestors(of)):
        body = each.node.body
        for node, after in zip(body, [*body[1:], None], strict=True):
            if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
                continue
            if "ClassVar" in ast.unparse(node.annotation):
                continue
            name = node.target.id
            found[name] = ConfigField(
                name,
                of,
                evaluator.value(node.value, Scope(each.module)),
                tuple(hints(evaluator.modules, each.module, node.annotation)),
                _text(after),
                each.module.file,
                node.lineno,
            )
    return list(found.values())


def keywords(field: ConfigField, manner: Manner) -> dict[str, Any]:
    """Return the keywords of ``add_argument`` for a field."""
    found: dict[str, Any] = {"default": field.default, "help": field.doc, FIELD: field}
    kinds = {each.kind for each in field.hints}
    literal = next((each for each in field.hints if each.kind == "literal"), None)
    collection = next((each for each in field.hints if each.kind in {"tuple", "list", "set"}), None)
    if field.config is not None:
        found["type"] = "json"
    elif manner.optional_text and kinds == {"bool", "str", "none"}:
        found |= {"type": "str", "nargs": "?", "const": True}
    elif "bool" in kinds:
        found["action"] = BOOLEAN
    elif literal is not None:
        found |= _literal(literal, open_ended=manner.open_literals and "str" in kinds)
    elif collection is not None:
        found |= _collection(collection)
    else:
        found["type"] = _plain(field, kinds, manner)
        if "other" in kinds and "str" not in kinds:
            found["choices"] = UNKNOWN
    if "none" in kinds and isinstance(found.get("choices"), list):
        found["choices"] = [*found["choices"], None]
    return found


def _plain(field: ConfigField, kinds: set[str], manner: Manner) -> str:
    if "int" in kinds:
        return "size" if field.name in manner.sizes else "int"
    if "float" in kinds:
        return "float"
    if "dict" in kinds:
        return "str or json" if kinds - {"dict", "none"} else "json"
    return "str"


def _literal(hint: Hint, *, open_ended: bool) -> dict[str, Any]:
    values = [each for each in hint.values if each is not None]
    kind = type(values[0]).__name__ if values else "str"
    return {"type": kind, "suggestions" if open_ended else "choices": sorted(values, key=str)}


def _collection(hint: Hint) -> dict[str, Any]:
    inner = [each for each in hint.inner if each.kind != "none"]
    elements = {each.kind for each in inner}
    found: dict[str, Any] = {"type": "str"}
    if len(elements) == 1 and inner[0].kind == "literal":
        found = _literal(inner[0], open_ended=False)
    elif len(elements) == 1 and inner[0].kind in {"int", "float"}:
        found["type"] = inner[0].kind
    whole = hint.kind == "tuple" and elements != {"other"} and not _endless(hint)
    return found | {"nargs": len(hint.inner) if whole else "+"}


def _endless(hint: Hint) -> bool:
    """Whether a tuple ends in an ellipsis, which is no type."""
    return bool(hint.inner) and hint.inner[-1].kind == "other"


def _text(node: ast.stmt | None) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return node.value.value.strip() if isinstance(node.value.value, str) else ""
    return ""


def _is_dataclass(hint: Hint) -> bool:
    if hint.of is None:
        return False
    names = [
        ast.unparse(each.func if isinstance(each, ast.Call) else each).rpartition(".")[2]
        for each in hint.of.node.decorator_list
    ]
    return any(name in _DATACLASSES for name in names)
