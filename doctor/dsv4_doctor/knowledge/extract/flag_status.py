"""Whether a flag still does something: what its help, its action and its readers say."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dsv4_doctor.knowledge.extract.python_modules import ClassRef

if TYPE_CHECKING:
    from dsv4_doctor.knowledge.extract.python_modules import Modules

DEPRECATED, IGNORED = "deprecated", "ignored"

_READERS = ("vllm/engine/", "vllm/entrypoints/", "vllm/v1/engine/", "vllm/executor/")
_ARGUMENTS = "vllm/engine/arg_utils.py"
# Names are looked at, not passed over, since one may be read from another: self.args.port.
_READ = re.compile(
    r"\b(?:args|self|namespace|config)\.\s*(?=(\w+))"
    r"|\b\w+_(?:args|config)\.\s*(?=(\w+))"
    r"|\b(?:getattr|hasattr)\(\s*[\w.]+,\s*[\"'](\w+)[\"']"
    r"|\b(?:args|kwargs|config|namespace)(?:\.pop\(|\.get\(|\[)[\"'](\w+)[\"']"
)
_DEPRECATED = re.compile(
    r"^\W*deprecated\b|\bthis (?:\w+ )?(?:is|has been|was) deprecated"
    r"|\b(?:flag|option|argument|parameter) (?:is|has been) deprecated",
    re.IGNORECASE,
)
_USELESS = re.compile(
    r"\b(?:has|have|with|had) no effect|\bnow a no[- ]op\b|\band (?:is|are) ignored\b",
    re.IGNORECASE,
)
# Further on, a text speaks of something else.
_NEAR = 250
# What the code says of a flag in a warning that begins with the flag's name.
_WARNING = re.compile(
    r"^(?:\w+ \()?[`'\"]*(--[a-z][\w-]+)[^\w.]{0,3} (?:is|has been|will be) (?:now )?deprecated"
)


@dataclass(frozen=True)
class Reader:
    """What a tree says of its flags beside their declarations.

    Attributes:
        warned: Sentences of the code on flags that are deprecated, by flag.
        read: Names that the code of the server reads from parsed arguments.
        engine: Fields of the engine's arguments.
        engine_read: Those of them that are read again.
        loops: Lines of calls of ``add_argument`` that stand in loops, by file.
    """

    warned: dict[str, str]
    read: frozenset[str]
    engine: frozenset[str]
    engine_read: frozenset[str]
    loops: frozenset[tuple[str, int]]

    def of(self, flag: str, name: str, given: dict[str, Any]) -> tuple[str, str] | None:
        """Return a flag's status and why, ``None`` when it does what it says.

        Args:
            flag: Such as ``--swap-space``.
            name: Of the attribute that it sets.
            given: Keywords of its ``add_argument``.
        """
        text = given.get("help")
        said = self.of_text(text) if isinstance(text, str) else None
        action = given.get("action")
        if said is None and flag in self.warned:
            said = _status(self.warned[flag])
        if said is None and given.get("deprecated") is True:
            said = DEPRECATED, "declared as deprecated"
        if said is None and isinstance(action, ClassRef) and "deprecated" in action.name.lower():
            said = DEPRECATED, f"its action is {action.name}"
        if said is not None and said[0] == IGNORED:
            return said
        if not self._is_read(name):
            return IGNORED, "nothing in the server's code reads it"
        return said

    def of_text(self, text: str) -> tuple[str, str] | None:
        """Return the status that a help text gives."""
        flat = " ".join(text.split())
        return _status(flat) if _DEPRECATED.search(flat) else None

    def _is_read(self, name: str) -> bool:
        if name in self.engine:
            return name in self.engine_read
        return name in self.read

    def is_loop(self, file: str, line: int) -> bool:
        """Whether the call of ``add_argument`` at a place stands in a loop."""
        return (file, line) in self.loops


def reader(modules: Modules) -> Reader:
    """Read what a tree says of its flags.

    Raises:
        SyntaxError: A file is no Python.
    """
    tree = modules.tree
    arguments = modules.by_file(_ARGUMENTS)
    engine: set[str] = set()
    read = _known_to_the_parser(modules)
    for node in arguments.body.body if arguments is not None else ():
        if isinstance(node, ast.ClassDef) and node.name.endswith("EngineArgs"):
            engine |= _fields(node)
    warned: dict[str, str] = {}
    for file in tree.content:
        if file.startswith(_READERS) and file.endswith(".py"):
            text = tree.text(file) or ""
            read |= {name for match in _READ.finditer(text) for name in match.groups() if name}
    loops: set[tuple[str, int]] = set()
    for module in modules.parsed.values():
        if module is not None:
            warned |= _warnings(module.body)
            loops |= {(module.file, line) for line in _loops(module.body)}
    again = frozenset(engine & read)
    return Reader(warned, frozenset(read), frozenset(engine), again, frozenset(loops))


def _known_to_the_parser(modules: Modules) -> set[str]:
    """Flags that the parser itself treats, such as ``--config``."""
    arguments = modules.get("vllm.engine.arg_utils")
    binding = modules.find(arguments, "FlexibleArgumentParser") if arguments is not None else None
    if binding is None or binding.statement is None:
        return set()
    texts = {
        node.value
        for node in ast.walk(binding.statement)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return {text[2:].replace("-", "_") for text in (*texts, "--help") if text.startswith("--")}


def _fields(node: ast.ClassDef) -> set[str]:
    return {
        each.target.id
        for each in node.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    }


def _warnings(body: ast.Module) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in ast.walk(body):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 400:
            flat = " ".join(node.value.split())
            match = _WARNING.match(flat)
            if match is not None:
                found.setdefault(match[1], flat)
    return found


def _loops(body: ast.Module) -> set[int]:
    return {
        call.args[0].lineno
        for node in ast.walk(body)
        if isinstance(node, ast.For)
        for call in ast.walk(node)
        if isinstance(call, ast.Call)
        and call.args
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "add_argument"
    }


def _status(text: str) -> tuple[str, str]:
    return (IGNORED if _USELESS.search(text[:_NEAR]) else DEPRECATED), _first(text)


def _first(text: str) -> str:
    """The first sentence or two, as much as a line of output holds."""
    short = text[:160]
    return text if len(text) <= 160 else short[: short.rfind(" ")] + " …"
