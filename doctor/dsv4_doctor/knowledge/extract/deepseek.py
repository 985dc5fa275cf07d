"""What a tree has for DeepSeek-V4: models, attention backends, quantisation, parsers.

A backend is a class of its name whose methods return plain values; what they compute is not
established. Those of other makers' devices are left out.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dsv4_doctor.knowledge.extract.flag_values import plain
from dsv4_doctor.knowledge.extract.python_eval import Scope
from dsv4_doctor.knowledge.extract.python_modules import ClassRef
from dsv4_doctor.knowledge.extract.type_hints import hints

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.knowledge.extract.facts import Json
    from dsv4_doctor.knowledge.extract.histories import Said
    from dsv4_doctor.knowledge.extract.python_eval import Evaluator

# Dictionaries whose keys are names that a user gives, by what they name.
REGISTRIES = {
    "model": "vllm/model_executor/models/registry.py",
    "tokenizer mode": "vllm/tokenizers/registry.py",
    "tool parser": "vllm/tool_parsers/__init__.py",
    "reasoning parser": "vllm/reasoning/__init__.py",
}
_QUANTIZATION = "vllm/model_executor/layers/quantization/__init__.py"
_METHODS = "QuantizationMethods"
_NAME = re.compile(r"deep_?seek_?v4", re.IGNORECASE)
_BACKEND = re.compile(r"Deep[sS]eekV4\d*(?!\w*Indexer)(?!\w*SWA)\w*Backend")
_WORDS = (b"class DeepseekV4", b"class DeepSeekV4")
_OTHER_DEVICES = re.compile(r"/(?:amd|xpu|rocm|cpu|tpu)|rocm_|xpu_")


def support(evaluator: Evaluator) -> dict[str, Said]:
    """Return what the tree has, by kind and name, in the form of the tables over releases.

    Of a backend: ``compute_majors`` that it runs on, ``block_sizes`` of the KV cache, and the
    ``kv_cache_dtypes`` and ``head_sizes`` that it takes.

    Raises:
        SyntaxError: A file is no Python.
    """
    found: dict[str, Said] = {}
    for kind, file in REGISTRIES.items():
        for name, line in _keys(evaluator, file):
            found.setdefault(f"{kind} {name}", ({}, file, line))
    for name, line in _methods(evaluator):
        found[f"quantization {name}"] = {}, _QUANTIZATION, line
    for each in _backends(evaluator):
        says, name = each.says(evaluator)
        if name:
            found.setdefault(f"backend {name}", (says, each.of.module.file, each.of.node.lineno))
    return dict(sorted(found.items()))


def _keys(evaluator: Evaluator, file: str) -> Iterator[tuple[str, int]]:
    module = evaluator.modules.by_file(file)
    for node in ast.walk(module.body) if module is not None else ():
        keys = node.keys if isinstance(node, ast.Dict) else ()
        for key in (each for each in keys if isinstance(each, ast.Constant)):
            if isinstance(key.value, str) and _NAME.match(key.value):
                yield key.value, key.lineno


def _methods(evaluator: Evaluator) -> Iterator[tuple[str, int]]:
    """The methods of quantisation that a user can ask for."""
    module = evaluator.modules.by_file(_QUANTIZATION)
    statement = module.bindings.get(_METHODS) if module is not None else None
    if module is None or not isinstance(statement, (ast.Assign, ast.AnnAssign)):
        return
    lines = {
        node.value: node.lineno
        for node in ast.walk(statement)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    for hint in hints(evaluator.modules, module, statement.value):
        for value in hint.values:
            if isinstance(value, str) and _NAME.match(value):
                yield value, lines.get(value, statement.lineno)


def _backends(evaluator: Evaluator) -> Iterator[_Backend]:
    tree = evaluator.modules.tree
    for file in sorted(tree.content):
        if not file.endswith(".py") or _OTHER_DEVICES.search(file):
            continue
        named = any(word in tree.content[file] for word in _WORDS)
        module = evaluator.modules.by_file(file) if named else None
        for node in module.body.body if module is not None else ():
            if (
                module is not None
                and isinstance(node, ast.ClassDef)
                and _BACKEND.fullmatch(node.name)
            ):
                yield _Backend(ClassRef(module, node))


@dataclass(frozen=True)
class _Backend:
    of: ClassRef

    def says(self, evaluator: Evaluator) -> tuple[Json, str]:
        """Its attributes, and its name, empty for one that has none of its own."""
        found: Json = {}
        for key, method in (
            ("block_sizes", "get_supported_kernel_block_sizes"),
            ("head_sizes", "get_supported_head_sizes"),
        ):
            value = plain(self._returned(evaluator, method))
            if value is not None and isinstance(value[0], list):
                found[key] = value[0]
        majors = self._majors(evaluator)
        if majors:
            found["compute_majors"] = majors
        dtypes = plain(evaluator.class_value(self.of, "supported_kv_cache_dtypes"))
        if dtypes is not None and isinstance(dtypes[0], list):
            found["kv_cache_dtypes"] = dtypes[0]
        name = self._returned(evaluator, "get_name")
        return found, name if isinstance(name, str) else ""

    def _returned(self, evaluator: Evaluator, method: str) -> Any:
        """What a method returns that does nothing else."""
        only = self._only(evaluator, method)
        if only is None:
            return None
        scope, value = only
        return evaluator.value(value, scope)

    def _only(self, evaluator: Evaluator, method: str) -> tuple[Scope, ast.expr] | None:
        function = evaluator.modules.method(self.of, method)
        if function is None:
            return None
        body = [each for each in function.node.body if not _is_text(each)]
        if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
            return None
        return Scope(function.module), body[0].value

    def _majors(self, evaluator: Evaluator) -> list[int]:
        """The majors of ``return capability.major in [9, 10]`` or ``... == 12``."""
        only = self._only(evaluator, "supports_compute_capability")
        if only is None:
            return []
        scope, test = only
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            return []
        if not isinstance(test.left, ast.Attribute) or test.left.attr != "major":
            return []
        value = evaluator.value(test.comparators[0], scope)
        if isinstance(test.ops[0], ast.Eq) and isinstance(value, int):
            return [value]
        listed = isinstance(test.ops[0], ast.In) and isinstance(value, list)
        return [each for each in value if isinstance(each, int)] if listed else []


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
