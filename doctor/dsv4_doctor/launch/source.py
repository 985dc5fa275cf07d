"""What the user names as the model: a config.json, a directory, a download, or a published name."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsv4_doctor.codec import STDIN, read
from dsv4_doctor.errors import InputError, UsageError
from dsv4_doctor.knowledge import launch as knowledge
from dsv4_doctor.knowledge.models import checkpoint, family
from dsv4_doctor.launch.checkpoint import size
from dsv4_doctor.launch.fields import Fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsv4_doctor.knowledge.models import Checkpoint

_CONFIG = "config.json"
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")


@dataclass(frozen=True)
class Source:
    """A model as it was found.

    Attributes:
        name: As ``vllm serve`` is to be given it.
        config: Its config.json.
        where: Where that stands.
        size: Bytes of all tensors, ``None`` when nothing tells.
        dtypes: Bytes by data type, as the headers call it, where these were read.
        published: What is known of it by its name.
        directory: Whether it lies in a directory here.
        notes: What a reader should know.
    """

    name: str
    config: Fields
    where: str
    size: int | None = None
    dtypes: tuple[tuple[str, int], ...] = ()
    published: Checkpoint | None = None
    directory: bool = False
    notes: tuple[str, ...] = ()


def find(model: str, environment: Mapping[str, str]) -> Source:
    """Return the model that a command line names.

    Args:
        model: ``-``, a file, a directory, or a name on the Hugging Face hub.
        environment: Where downloads are kept, by the variables of huggingface_hub.

    Raises:
        InputError: What it names is no model's config.json.
        UsageError: It names nothing that is there or known.
    """
    if model == STDIN:
        return _file(STDIN, "")
    path = Path(model).expanduser()
    if path.is_dir():
        return _directory(path)
    if path.is_file():
        return _file(str(path), str(path.parent))
    download = _download(model, environment)
    if download is not None:
        return _directory(download)
    known = _known(model)
    if known is not None:
        return _published(known)
    names = ", ".join(each.name for each in family().checkpoints)
    msg = f"{model}: no file, no directory, not downloaded, and not one of the published models"
    raise UsageError(msg, hint=f"give its config.json, or one of {names}")


def _known(model: str) -> Checkpoint | None:
    try:
        return checkpoint(model)
    except UsageError:
        return None


def _file(source: str, name: str) -> Source:
    raw, where = read(source)
    config = _config(raw, where)
    if source == STDIN:
        told = config.text("_name_or_path")
        notes = () if told else ("standard input does not tell the model's name: put it for MODEL",)
        return Source(told or "MODEL", config, where, notes=notes)
    found = size(Path(source).parent)
    return Source(name, config, where, found.total, found.dtypes, notes=found.notes)


def _directory(path: Path) -> Source:
    """A directory with a config.json, or one of huggingface_hub's cache."""
    place = path
    if not (path / _CONFIG).is_file() and (path / "snapshots").is_dir():
        place = _snapshot(path)
    if not (place / _CONFIG).is_file():
        msg = f"{path}: has no {_CONFIG}, so it is no directory of a model"
        raise InputError(msg)
    raw, where = read(str(place / _CONFIG))
    found = size(place)
    kind, _, name = path.name.partition("--")
    repository = name.replace("--", "/", 1) if kind == "models" and place != path else str(path)
    return Source(
        repository,
        _config(raw, where),
        where,
        found.total,
        found.dtypes,
        _known(repository),
        directory=True,
        notes=found.notes,
    )


def _snapshot(path: Path) -> Path:
    """The revision that ``main`` is, else the newest."""
    reference = path / "refs" / "main"
    if reference.is_file():
        revision = reference.read_text(encoding="utf-8", errors="replace").strip()
        if re.fullmatch(r"[\w.-]+", revision) and (path / "snapshots" / revision).is_dir():
            return path / "snapshots" / revision
    revisions = sorted(
        (each for each in (path / "snapshots").iterdir() if each.is_dir()),
        key=lambda each: each.stat().st_mtime,
    )
    if not revisions:
        msg = f"{path}: a download of which no revision is there"
        raise InputError(msg)
    return revisions[-1]


def _download(model: str, environment: Mapping[str, str]) -> Path | None:
    if not _REPOSITORY.fullmatch(model):
        return None
    home = environment.get("HF_HOME") or os.path.join(  # noqa: PTH118 - of variables, not of paths
        environment.get("XDG_CACHE_HOME") or "~/.cache", "huggingface"
    )
    cache = Path(environment.get("HF_HUB_CACHE") or f"{home}/hub").expanduser()
    path = cache / f"models--{model.replace('/', '--')}"
    return path if (path / "snapshots").is_dir() else None


def _published(known: Checkpoint) -> Source:
    config = knowledge.published(known.backbone.name) or {}
    data: dict[str, Any] = {**config, "architectures": [known.architecture]}
    if known.draft == "mtp":
        data["num_nextn_predict_layers"] = 1
    elif known.draft == "dspark":
        data["dspark_markov_rank"] = None
    if known.precision.startswith("nvfp4"):
        data["quantization_config"] = {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"}
    weights = known.weights_gib
    size_known = int(weights.value * (1 << 30)) if weights is not None else None
    where = str(knowledge.published_place(known.backbone.name)) if config else str(known.place)
    note = f"no download of {known.name} found: planned is with its published structure"
    return Source(
        known.name, Fields(data, known.name), where, size_known, published=known, notes=(note,)
    )


def _config(raw: bytes, where: str) -> Fields:
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError) as error:
        msg = f"{where}: not JSON, or cut short: {error}"
        raise InputError(msg, hint="give the config.json that lies beside the weights") from error
    if not isinstance(data, dict):
        msg = f"{where}: not the config.json of a model: no JSON object"
        raise InputError(msg, hint="give the config.json that lies beside the weights")
    return Fields(data, where)
