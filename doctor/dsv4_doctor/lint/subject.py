"""What a command line is held against: a release's flags, a model, a GPU, a machine."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.version import Version

from dsv4_doctor.arch import Arch
from dsv4_doctor.errors import UsageError
from dsv4_doctor.knowledge import gpus, load, models
from dsv4_doctor.knowledge.flags import flag_of, flags_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsv4_doctor.knowledge.flags import ServeFlag
    from dsv4_doctor.knowledge.history import Recorded
    from dsv4_doctor.knowledge.model import Release
    from dsv4_doctor.knowledge.models import Backbone, Checkpoint
    from dsv4_doctor.snapshot import Snapshot

DEEPSEEK_V4 = "deepseek-v4"
# A config.json is a few kilobytes; what is larger is none.
_MAX_CONFIG = 4 << 20


@dataclass(frozen=True)
class Model:
    """The model of a command line, as far as it is known.

    Attributes:
        family: ``deepseek-v4``, or empty.
        checkpoint: As the family's list has it, ``None`` where it has none of this name.
        heads: Attention heads by the model's own config.json, ``None`` where there is none.
        groups: Groups of the output projection, as before.
        context: Longest sequence in tokens, as before.
        origin: Where these were read.
    """

    name: str
    family: str = ""
    checkpoint: Checkpoint | None = None
    heads: int | None = None
    groups: int | None = None
    context: int | None = None
    origin: str = ""

    @property
    def backbone(self) -> Backbone | None:
        """Its network, where the family's list has it."""
        return self.checkpoint.backbone if self.checkpoint is not None else None


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
class Tree:
    """What a source tree says itself.

    Attributes:
        requirements: As those of a known release.
        variables: What it says of each variable that it reads.
    """

    requirements: Release
    variables: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Against:
    """All that a command line is held against.

    Attributes:
        release: Of vLLM.
        flags: Those of the release.
        model: What ``--model`` of lint says, empty for that of the command.
        tree: What the source tree says that the user named, ``None`` for a known release.
    """

    release: str
    flags: Mapping[str, ServeFlag]
    gpu: Gpu | None = None
    model: str = ""
    tree: Tree | None = None

    @property
    def position(self) -> float:
        """Where the release is among the known ones; a tree of another is between two of them."""
        known = load.flag_releases()
        if self.tree is None:
            return float(known.index(self.release))
        version = self.tree.requirements.version
        return sum(Version(each) <= version for each in known) - 0.5

    @property
    def requirements(self) -> Release:
        """What the release needs, and for which models and GPUs it is."""
        return load.release(self.release) if self.tree is None else self.tree.requirements

    def variable(self, recorded: Recorded) -> Mapping[str, Any] | None:
        """Return what the release says of a variable, ``None`` when it does not read it."""
        if self.tree is None:
            return recorded.says(self.release)
        return self.tree.variables.get(recorded.name)


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
    checkpoint = None
    try:
        checkpoint = models.checkpoint(text.rstrip("/").rpartition("/")[2] or text)
        family = DEEPSEEK_V4
    except UsageError:
        pass
    # With scaled positions vLLM derives another length, and DeepSeek-V4's own has the factor in it.
    scaled = config.get("rope_scaling") or config.get("rope_parameters")
    told = bool(family) or not scaled
    context = _number(config, "max_position_embeddings") if told else None
    return Model(text, family, checkpoint, heads, groups, context, origin)


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


def against(vllm: str, gpu: Gpu | None = None, model: str = "") -> tuple[Against, tuple[str, ...]]:
    """Return what a command is held against, and notes for a reader.

    Args:
        vllm: A known release, a source distribution or a checkout.
        gpu: The GPU that the command is for.
        model: Where the command does not name it.

    Raises:
        UsageError: The release is not known, or its flags are not.
        InputError: The source tree cannot be read.
    """
    name = vllm.removeprefix("v")
    if name in load.flag_releases():
        return Against(name, flags_of(name), gpu, model), ()
    # Only who names a tree pays for what reads it.
    from dsv4_doctor.knowledge.named import named  # noqa: PLC0415
    from dsv4_doctor.releases import tables  # noqa: PLC0415

    release, notes = named(vllm)
    said = tables.of(release, vllm if notes else "")
    if said is None:
        msg = f"the flags of vLLM {release.name} are not known"
        raise UsageError(msg)
    flags = {name: flag_of(name, each.place, each.says) for name, each in said.flags.items()}
    read = {name: each.says for name, each in said.variables.items()}
    return Against(release.name, flags, gpu, model, Tree(release, read)), notes
