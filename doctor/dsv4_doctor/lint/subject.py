"""What a command line is held against: a release's flags, a model, a GPU, a machine."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsv4_doctor.arch import Arch
from dsv4_doctor.errors import UsageError
from dsv4_doctor.knowledge import gpus, load, models

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsv4_doctor.knowledge.flags import ServeFlag
    from dsv4_doctor.knowledge.models import Backbone
    from dsv4_doctor.snapshot import Snapshot

DEEPSEEK_V4 = "deepseek-v4"
# A config.json is a few kilobytes; what is larger is none.
_MAX_CONFIG = 4 << 20


@dataclass(frozen=True)
class Model:
    """The model of a command line, as far as it is known.

    Attributes:
        family: ``deepseek-v4``, or empty.
        backbone: Its network, where the family's list has it.
        heads: Attention heads by the model's own config.json, ``None`` where there is none.
        groups: Groups of the output projection, as before.
        origin: Where the heads were read.
    """

    name: str
    family: str = ""
    backbone: Backbone | None = None
    heads: int | None = None
    groups: int | None = None
    origin: str = ""


@dataclass(frozen=True)
class Gpu:
    """The GPUs that the command is for.

    Attributes:
        name: As the user or the machine names it.
        count: How many the machine has, ``None`` when nobody said.
    """

    name: str
    arch: Arch
    count: int | None = None

    def among(self, capabilities: tuple[str, ...]) -> bool:
        """Whether its compute capability is one of these, such as ``9`` or ``8.6``."""
        return not {str(self.arch.major), self.arch.dotted}.isdisjoint(capabilities)


@dataclass(frozen=True)
class Against:
    """All that a command line is held against.

    Attributes:
        release: Of vLLM.
        flags: Those of the release.
        model: What ``--model`` of lint says, empty for that of the command.
    """

    release: str
    flags: Mapping[str, ServeFlag]
    gpu: Gpu | None = None
    model: str = ""


def gpu_named(text: str) -> Gpu:
    """Return the GPU that a user names: by model, as NVML does, or by architecture.

    Raises:
        UsageError: There is none of this name, or several of different architectures.
    """
    try:
        return Gpu(text, Arch.parse(text).base)
    except ValueError:
        pass
    exact = gpus.gpu_model(text)
    wanted = text.lower().replace("-", " ")
    found = [exact] if exact else [each for each in gpus.gpu_models() if _meant(wanted, each.name)]
    if len({each.arch.base for each in found}) != 1:
        names = ", ".join(each.name for each in gpus.gpu_models())
        msg = f"{text!r} names {'several GPUs' if found else 'no known GPU'}"
        raise UsageError(msg, hint=f"an architecture such as sm_90, or one of: {names}")
    return Gpu(found[0].name if len(found) == 1 else text, found[0].arch.base)


def _meant(wanted: str, name: str) -> bool:
    """Whether the words that a user gives are all words of a name."""
    words = name.lower().replace("-", " ").split()
    return all(word in words for word in wanted.split())


def gpu_of(snapshot: Snapshot) -> Gpu | None:
    """Return the GPUs of a machine, ``None`` where it has none or they are of several kinds."""
    found = [each for each in snapshot.gpus or () if each.compute_capability]
    archs = {Arch.parse(each.compute_capability).base for each in found if each.compute_capability}
    if len(archs) != 1:
        return None
    return Gpu(found[0].name or "", archs.pop(), len(found))


def model_named(text: str) -> Model:
    """Return what is known of a model by its repository or its directory."""
    config = _config(text)
    family = DEEPSEEK_V4 if str(config.get("model_type", "")).startswith("deepseek_v4") else ""
    heads, groups = _number(config, "num_attention_heads"), _number(config, "o_groups")
    origin = f"{text}/config.json" if config else ""
    backbone = None
    try:
        backbone = models.checkpoint(text.rstrip("/").rpartition("/")[2] or text).backbone
        family = DEEPSEEK_V4
    except UsageError:
        pass
    return Model(text, family, backbone, heads, groups, origin)


def _config(text: str) -> Mapping[str, Any]:
    """The config.json of a model directory on this machine, empty where none can be read."""
    path = Path(text) / "config.json"
    try:
        if path.stat().st_size > _MAX_CONFIG:
            return {}
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _number(config: Mapping[str, Any], key: str) -> int | None:
    value = config.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def known_release(text: str) -> str:
    """Return a release whose flags are known.

    Raises:
        UsageError: They are not known; the message says which are.
    """
    name = text.removeprefix("v")
    if name not in load.flag_releases():
        release = load.release(name).name
        msg = f"the flags of vLLM {release} are not known"
        raise UsageError(msg)
    return name
