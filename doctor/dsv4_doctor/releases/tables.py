"""What a release says in the tables over releases, or what its own tree says of the same."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.places import Place
from dsv4_doctor.releases.entry import Entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dsv4_doctor.knowledge.history import Json, Recorded
    from dsv4_doctor.knowledge.model import Release

FLAGS, KEYS = "flag of vllm serve", "key of a flag's value"
VARIABLES = "environment variable"
KERNELS, DEEPSEEK = "kernels compiled", "DeepSeek-V4"
DOCKER, PACKAGES = "argument of its Dockerfile", "package that it asks for"
_UNSET = "unset"
_COMPARED = ("type", "default", "choices", "status")
_SHORT = {FLAGS: "flag", KEYS: "key", VARIABLES: "variable"}
# What is compared only where both releases have the flag, key or variable.
ATTRIBUTES = frozenset(f"{what} of a {short}" for what in _COMPARED for short in _SHORT.values())
CHOICES = frozenset(f"choices of a {short}" for short in _SHORT.values())


@dataclass(frozen=True)
class Said:
    """What one release says of one name.

    Attributes:
        says: Attributes in the form of the tables.
        place: Where it declares it.
    """

    says: Json
    place: Place


@dataclass(frozen=True)
class Tables:
    """What one release says, name by name, in each of the tables."""

    flags: Mapping[str, Said]
    variables: Mapping[str, Said]
    compiled: Mapping[str, Said]
    deepseek_v4: Mapping[str, Said]
    docker: Mapping[str, Said]
    packages: Mapping[str, Said]


def of(release: Release, tree: str = "") -> Tables | None:
    """Return what is known of a release, ``None`` when nothing is.

    Args:
        release: The release.
        tree: The source tree that it was read from, for one that was.

    Raises:
        InputError: The tree cannot be read.
    """
    if tree:
        return _read(release, Path(tree).expanduser())
    return _known(release.name) if release.name in load.flag_releases() else None


_LOADED: dict[str, Callable[[], Mapping[str, Recorded]]] = {
    "flags": load.flags,
    "variables": load.variables,
    "compiled": load.compiled,
    "deepseek_v4": load.deepseek_v4,
    "docker": load.docker,
    "packages": load.packages,
}


@cache
def _known(release: str) -> Tables:
    return Tables(**{name: _of_table(table(), release) for name, table in _LOADED.items()})


def _of_table(table: Mapping[str, Recorded], release: str) -> dict[str, Said]:
    found = {}
    for name, each in table.items():
        says = each.says(release)
        if says is not None:
            found[name] = Said(says, each.place_in(release))
    return found


def _read(release: Release, path: Path) -> Tables:
    # Only who names a tree pays for what reads it.
    from dsv4_doctor.knowledge.extract import tables  # noqa: PLC0415
    from dsv4_doctor.knowledge.extract.tree import open_tree  # noqa: PLC0415

    tree = open_tree(path)
    return Tables(
        **{
            name: {
                each: Said(says, Place("vllm", release.name, file, line))
                for each, (says, file, line) in read(tree).items()
            }
            for name, read in tables.TABLES.items()
        }
    )


def entries(tables: Tables) -> Iterator[tuple[str, Mapping[str, Entry]]]:
    """Give everything that the tables say, topic by topic and name by name."""
    keys = {name: each for name, each in tables.flags.items() if "." in name}
    flags = {name: each for name, each in tables.flags.items() if "." not in name}
    for topic, said, text in (
        (PACKAGES, tables.packages, _packages),
        (KERNELS, tables.compiled, _kernels),
        (DEEPSEEK, tables.deepseek_v4, _support),
        (DOCKER, tables.docker, _argument),
        (FLAGS, flags, _flag),
        (KEYS, keys, _flag),
        (VARIABLES, tables.variables, _variable),
    ):
        yield topic, {name: Entry(text(each.says), each.place) for name, each in said.items()}


def compared(tables: Tables) -> Iterator[tuple[str, Mapping[str, Entry]]]:
    """Give the same, one attribute a topic, so that a change says which of them it is."""
    whole = dict(entries(tables))
    yield from ((topic, whole[topic]) for topic in (PACKAGES, KERNELS, DEEPSEEK, DOCKER))
    said = {FLAGS: tables.flags, KEYS: tables.flags, VARIABLES: tables.variables}
    for topic, short in _SHORT.items():
        chosen = {name: each for name, each in said[topic].items() if name in whole[topic]}
        yield topic, {name: Entry("", each.place) for name, each in chosen.items()}
        for attribute in _COMPARED if topic != VARIABLES else ("default",):
            yield f"{attribute} of a {short}", dict(_attribute(chosen, attribute))


def _attribute(said: Mapping[str, Said], attribute: str) -> Iterator[tuple[str, Entry]]:
    for name, each in said.items():
        if attribute not in each.says:
            if attribute == "status":
                yield name, Entry("works", each.place)
            continue
        value = each.says[attribute]
        text = " ".join(sorted(value)) if attribute == "choices" else shown(value)
        if attribute == "status":
            text = f"{value}: {each.says.get('why', '')}"
        yield name, Entry(text, each.place)


def _packages(says: Json) -> str:
    return " or ".join(says["asks"])


def _kernels(says: Json) -> str:
    parts = []
    for nvcc, archs in says.get("archs", {}).items():
        where = "every architecture of the build" if "*" in archs.split() else archs
        parts.append(f"{where} with nvcc {nvcc}" if nvcc else where)
    text = "; ".join(parts) or "architectures not established"
    return f"{text}; in {says['extension']}" if "extension" in says else text


def _support(says: Json) -> str:
    majors = [f"{each}.x" for each in says.get("compute_majors", ())]
    parts = [
        f"compute capability {', '.join(majors)}" if majors else "",
        _listed("block size", says.get("block_sizes")),
        _listed("KV cache", says.get("kv_cache_dtypes")),
        _listed("head size", says.get("head_sizes")),
    ]
    return "; ".join(part for part in parts if part) or "there"


def _listed(what: str, values: list[Any] | None) -> str:
    return f"{what} {', '.join(map(str, values))}" if values else ""


def _argument(says: Json) -> str:
    return shown(says["default"])


def _flag(says: Json) -> str:
    parts = [says.get("type", "type not established")]
    if "nargs" in says:
        parts.append(f"values {says['nargs']}")
    parts.append(_default(says))
    if says.get("choices"):
        more = ", …" if says.get("open") else ""
        parts.append(f"one of {', '.join(says['choices'])}{more}")
    parts += [f"also {' '.join(says[key])}" for key in ("aliases", "negatives") if says.get(key)]
    if "status" in says:
        parts.append(f"{says['status']}: {says.get('why', '')}")
    return "; ".join(parts)


def _variable(says: Json) -> str:
    parts = [_default(says), f"read by {', '.join(says['read_by'])}"]
    if says.get("choices"):
        parts.append(f"one of {', '.join(says['choices'])}")
    return "; ".join(parts)


def _default(says: Json) -> str:
    known = "default" in says
    return f"default {shown(says['default'])}" if known else "default not established"


def shown(value: Any) -> str:
    """Return a value of a table as a person reads it."""
    if isinstance(value, dict) and set(value) == {"expression"}:
        return str(value["expression"])
    if value is None:
        return _UNSET
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
