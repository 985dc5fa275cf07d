"""What an image is made of, and what is inside it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsv4_doctor.errors import InputError
from dsv4_doctor.images.filesystem import union
from dsv4_doctor.images.layer import read_layer
from dsv4_doctor.images.layout import PREFIXES, is_image, open_image

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.images.claims import Claim
    from dsv4_doctor.images.layer import Entry, Layer
    from dsv4_doctor.images.layout import Opened

# What packages say of themselves: of Debian, and of Python.
_TEXTS = ("/METADATA", "/RECORD")
STATUS = "var/lib/dpkg/status"
OS_RELEASE = "usr/lib/os-release"


@dataclass(frozen=True)
class LayerSummary:
    """One layer.

    Attributes:
        digest: SHA-256 of the blob as it is stored.
        diff_id: SHA-256 of the tar in it.
        size: Bytes that are pulled.
        unpacked: Bytes of the tar.
        made_by: What the history says of it, empty when it says nothing.
    """

    digest: str
    diff_id: str
    size: int
    unpacked: int
    made_by: str


@dataclass(frozen=True)
class ImageSummary:
    """What an image says of itself, and what of it is true.

    Attributes:
        digest: Of the manifest, empty for an archive without one.
        platform: Such as ``linux/amd64``.
        labels: As the configuration has them.
        layers: From the base up.
        claims: Labels that can be held against the contents, each with its answer.
    """

    digest: str
    platform: str
    labels: dict[str, str]
    layers: tuple[LayerSummary, ...]
    claims: tuple[Claim, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


@dataclass(frozen=True)
class Contents:
    """An image that was read.

    Attributes:
        summary: Without the claims.
        config: Of the image.
        tree: What is at each path.
    """

    summary: ImageSummary
    config: dict[str, Any]
    tree: dict[str, Entry]


def image_path(what: str) -> Path | None:
    """Return the path of an image, ``None`` for what is none.

    Args:
        what: As the user wrote it; ``oci:DIR`` and ``docker-archive:FILE`` are taken, too.
    """
    for prefix in PREFIXES:
        if what.startswith(prefix):
            return Path(what.removeprefix(prefix))
    path = Path(what)
    return path if is_image(path) else None


@contextmanager
def read_image(path: Path) -> Iterator[Contents]:
    """Read every layer of an image once; contents can be read until this is left.

    Raises:
        InputError: Damaged, or with other bytes than its digests say.
    """
    with open_image(path) as opened:
        layers = [_layer(opened, digest, source) for digest, source in opened.layers]
        _hold(opened, layers)
        made_by = _history(opened.config, len(layers))
        summary = ImageSummary(
            digest=opened.digest,
            platform=f"{opened.config.get('os', '?')}/{opened.config.get('architecture', '?')}",
            labels=_labels(opened.config),
            layers=tuple(
                LayerSummary(each.digest, each.diff_id, each.size, each.unpacked, made)
                for each, made in zip(layers, made_by, strict=True)
            ),
        )
        yield Contents(summary, opened.config, union(layers))


def _layer(opened: Opened, digest: str, source: Any) -> Layer:
    layer = read_layer(source, f"{opened.path}: layer {digest[:19]}", _is_text)
    if digest.startswith("sha256:") and digest not in {layer.digest, layer.diff_id}:
        msg = f"{opened.path}: the layer {digest} has other bytes than its digest says"
        raise InputError(msg)
    return layer


def _is_text(name: str) -> bool:
    return name in {STATUS, OS_RELEASE} or (name.endswith(_TEXTS) and ".dist-info/" in name)


def _hold(opened: Opened, layers: list[Layer]) -> None:
    """Hold the layers against what the configuration, which the image's name stands for, says."""
    rootfs = opened.config.get("rootfs")
    said = rootfs.get("diff_ids") if isinstance(rootfs, dict) else None
    if said != [each.diff_id for each in layers]:
        msg = f"{opened.path}: its layers are not those that its configuration lists"
        raise InputError(msg)


def _history(config: dict[str, Any], count: int) -> list[str]:
    listed = config.get("history")
    entries = (
        [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    )
    made = [str(each.get("created_by") or "") for each in entries if not each.get("empty_layer")]
    return made if len(made) == count else [""] * count


def _labels(config: dict[str, Any]) -> dict[str, str]:
    inner = config.get("config")
    labels = inner.get("Labels") if isinstance(inner, dict) else None
    return {str(k): str(v) for k, v in labels.items()} if isinstance(labels, dict) else {}
