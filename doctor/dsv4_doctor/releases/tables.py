"""What a release says of flags and environment variables, from the tables or from its tree."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.model import Place
from dsv4_doctor.releases.entry import Entry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dsv4_doctor.knowledge.history import Json, Recorded
    from dsv4_doctor.knowledge.model import Release

FLAGS, KEYS = "flag of vllm serve", "key of a flag's value"
VARIABLES = "environment variable"
_UNSET = "unset"
_COMPARED = ("type", "default", "choices", "status")
_SHORT = {FLAGS: "flag", KEYS: "key", VARIABLES: "variable"}
# What is compared only where both releases have the flag, key or variable.
ATTRIBUTES = frozenset(f"{what} of a {short}" for what in _COMPARED for short in _SHORT.values())
CHOICES = frozenset(f"choices of a {short}" for short in _SHORT.values())


@dataclass(frozen=True)
class Said:
    """What one release says of one flag or variable.

    Attributes:
        says: Attributes in the form of the tables.
        place: Where this release, or the newest that has it, declares it.
    """

    says: Json
    place: Place


@dataclass(frozen=True)
class Tables:
    """The flags and the variables of one release, by name."""

    flags: Mapping[str, Said]
    variables: Mapping[str, Said]


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
    if release.name not in load.flag_releases():
        return None
    return Tables(_known(load.flags(), release), _known(load.variables(), release))


def _known(table: Mapping[str, Recorded], release: Release) -> dict[str, Said]:
    found = {}
    for name, each in table.items():
        says = each.says(release.name)
        if says is not None:
            found[name] = Said(says, each.place)
    return found


def _read(release: Release, path: Path) -> Tables:
    # Only who names a tree pays for what reads it.
    from dsv4_doctor.knowledge.extract import tables  # noqa: PLC0415
    from dsv4_doctor.knowledge.extract.tree import open_tree  # noqa: PLC0415

    tree = open_tree(path)
    flags, variables = (
        {
            name: Said(says, Place("vllm", release.name, file, line))
            for name, (says, file, line) in read(tree).items()
        }
        for read in (tables.read_flags, tables.read_variables)
    )
    return Tables(flags, variables)


def entries(tables: Tables) -> Iterator[tuple[str, Mapping[str, Entry]]]:
    """Give the flags, the keys of their values and the variables, each with all that it says."""
    for topic, nested in ((FLAGS, False), (KEYS, True)):
        chosen = {
            name: Entry(_flag(each.says), each.place)
            for name, each in tables.flags.items()
            if ("." in name) is nested
        }
        yield topic, chosen
    yield (
        VARIABLES,
        {name: Entry(_variable(each.says), each.place) for name, each in tables.variables.items()},
    )


def compared(tables: Tables) -> Iterator[tuple[str, Mapping[str, Entry]]]:
    """Give the same, one attribute a topic, so that a change says which of them it is."""
    keys = {name: each for name, each in tables.flags.items() if "." in name}
    flags = {name: each for name, each in tables.flags.items() if "." not in name}
    for topic, chosen in ((FLAGS, flags), (KEYS, keys), (VARIABLES, tables.variables)):
        yield topic, {name: Entry("", each.place) for name, each in chosen.items()}
        for attribute in _COMPARED if topic != VARIABLES else ("default",):
            yield f"{attribute} of a {_SHORT[topic]}", dict(_attribute(chosen, attribute))


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
