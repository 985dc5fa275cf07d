"""The command-line flags that ``vllm serve`` takes, with what its parser makes of each.

The functions that register them are followed from the subcommand on, see :mod:`flag_run`. A flag
whose value is a configuration class also takes its fields, as ``--attention-config.backend``,
where the release's parser can do that.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dsv4_doctor.knowledge.extract import flag_status
from dsv4_doctor.knowledge.extract.config_fields import BOOLEAN, FIELD, fields, keywords
from dsv4_doctor.knowledge.extract.flag_run import PARSER, Registered, Runner
from dsv4_doctor.knowledge.extract.flag_values import choices, plain, type_name
from dsv4_doctor.knowledge.extract.python_modules import ClassRef, FunctionRef, Modules, functions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.knowledge.extract.facts import Json
    from dsv4_doctor.knowledge.extract.tree import SourceTree

# Where the subcommand is; older releases have all of them in one file.
STARTS = ("vllm.entrypoints.cli.serve", "vllm.scripts")
_MAKER = "make_arg_parser"
_ARGUMENTS = "vllm.engine.arg_utils"
_PARSER = "FlexibleArgumentParser"
# Fields of fields of fields are the deepest that vLLM's documentation writes as flags.
_DEEPEST = 3
_SWITCHES = {"store_true": False, "store_false": True}


@dataclass(frozen=True)
class Flag:
    """One flag of one release.

    Attributes:
        says: What its parser makes of it, in the form of ``knowledge/flags.json``; what is not
            there was not established.
    """

    says: Json
    file: str
    line: int


@dataclass(frozen=True)
class _Habits:
    """What the release's own parser class does.

    Attributes:
        nested: Whether it takes the keys of a JSON value one by one.
        pairs: Prefixes of boolean flags, and those of the opposite flag.
        level: The flag that ``-O`` stands for though nobody registers it.
    """

    nested: bool
    pairs: dict[str, str]
    level: str


def flags(tree: SourceTree) -> dict[str, Flag]:
    """Return the flags by name, those of fields included.

    Raises:
        SyntaxError: A file is no Python.
    """
    modules = Modules(tree)
    runner = Runner(modules)
    for function, known in _starts(modules):
        runner.run(function, known)
        break
    habits = _habits(runner, modules)
    status = flag_status.reader(modules)
    found: dict[str, Flag] = {}
    for each in runner.registered:
        long = [name for name in each.names if name.startswith("--")]
        if long and "*" not in long[0]:
            found.setdefault(long[0], _flag(each, long, habits, status))
            if habits.nested:
                for name, flag in _nested(runner, long[0], each.keywords.get(FIELD), status):
                    found.setdefault(name, flag)
    return dict(sorted(found.items()))


def _starts(modules: Modules) -> Iterator[tuple[FunctionRef, dict[str, Any]]]:
    """The functions of the subcommand that make the parser, with the names that they know."""
    for name in STARTS:
        module = modules.get(name)
        for function in functions(module) if module is not None else ():
            calls = [each for each in ast.walk(function.node) if isinstance(each, ast.Call)]
            made = [each for each in calls if ast.unparse(each.func) == _MAKER and each.args]
            if made:
                known: dict[str, Any] = {ast.unparse(each.args[0]): PARSER for each in made}
                yield function, known | ({"self": function.owner} if function.owner else {})


def _habits(runner: Runner, modules: Modules) -> _Habits:
    arguments = modules.get(_ARGUMENTS)
    binding = modules.find(arguments, _PARSER) if arguments is not None else None
    if binding is None or not isinstance(binding.statement, ast.ClassDef):
        return _Habits(nested=False, pairs={}, level="")
    nodes = list(ast.walk(binding.statement))
    nested = any(isinstance(each, ast.FunctionDef) and "nested" in each.name for each in nodes)
    texts = {each.value for each in nodes if isinstance(each, ast.Constant)}
    level = "--optimization-level" if {"-O", "--optimization-level"} <= texts else ""
    pairs: dict[str, str] = {}
    for each in binding.module.body.body:
        if isinstance(each, ast.ClassDef):
            value = runner.class_value(ClassRef(binding.module, each), "_inverse_prefixes")
            pairs |= value if isinstance(value, dict) else {}
    return _Habits(nested, pairs, level)


def _flag(each: Registered, long: list[str], habits: _Habits, status: flag_status.Reader) -> Flag:
    given = each.keywords
    says: Json = {}
    aliases = [name for name in each.names if name != long[0] and isinstance(name, str)]
    aliases += ["-O"] if long[0] == habits.level and "-O" not in aliases else []
    if given.get("action") == BOOLEAN:
        opposite = [f"--no-{name[2:]}" for name in long]
        for name in long:
            for prefix, inverse in habits.pairs.items():
                if name.startswith(prefix):
                    opposite.append(inverse + name.removeprefix(prefix))
        says["negatives"] = opposite
    if aliases:
        says["aliases"] = sorted(aliases)
    says |= _value(given, whole=each.whole)
    field = given.get(FIELD)
    destination = given.get("dest")
    name = destination if isinstance(destination, str) else long[0][2:].replace("-", "_")
    found = status.of(long[0], name, given)
    if found is not None:
        says["status"], says["why"] = found
    # A flag that is made of a field by a loop stands where the field does.
    looped = field is not None and f"--{field.name.replace('_', '-')}" == long[0]
    if field is not None and looped and status.is_loop(each.file, each.line):
        return Flag(says, field.file, field.line)
    return Flag(says, each.file, each.line)


def _value(given: Json, *, whole: bool) -> Json:
    """The type, default and choices, as far as they follow from the text."""
    says: Json = {}
    action = given.get("action")
    if isinstance(action, str) and action in _SWITCHES:
        return {"type": "switch", "default": given.get("default", _SWITCHES[action])}
    if action == BOOLEAN:
        says["type"] = "bool"
    elif whole:
        says["type"] = type_name(given.get("type"))
    if isinstance(given.get("nargs"), (str, int)):
        says["nargs"] = given["nargs"]
    elif action == "append":
        says["nargs"] = "repeated"
    if whole or "default" in given:
        default = plain(given.get("default"))
        says |= {} if default is None else {"default": default[0]}
    for key, is_open in (("choices", False), ("suggestions", True)):
        if given.get(key) is not None:
            listed = choices(given[key])
            says |= {"choices": listed} if listed else {}
            says |= {"open": True} if is_open or not listed else {}
    return says


def _nested(
    runner: Runner, flag: str, field: Any, status: flag_status.Reader, depth: int = 1
) -> Iterator[tuple[str, Flag]]:
    """The fields of the class that a flag's value is."""
    of = field.config if field is not None else None
    if of is None or depth > _DEEPEST:
        return
    for each in fields(runner, of):
        if each.name.startswith("_"):
            continue
        given: dict[str, Any] = keywords(each, runner.manner)
        says = _value(given, whole=True)
        found = status.of_text(each.doc)
        if found is not None:
            says["status"], says["why"] = found
        name = f"{flag}.{each.name}"
        yield name, Flag(says, each.file, each.line)
        # The keys of a class whose fields are flags of their own are set by those.
        if each.config is not None and each.config.name in runner.grouped:
            continue
        yield from _nested(runner, name, each, status, depth + 1)
