"""Images made up in memory, in the layout of real ones."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import zstandard

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"


@dataclass(frozen=True)
class Link:
    """A link in a layer."""

    target: str
    hard: bool = False


def layer(files: Mapping[str, bytes | Link | None], *, format_: int = tarfile.PAX_FORMAT) -> bytes:
    """Return the tar of a layer; ``None`` is a directory."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format_) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            if content is None:
                info.type, info.mode = tarfile.DIRTYPE, 0o755
            elif isinstance(content, Link):
                info.type = tarfile.LNKTYPE if content.hard else tarfile.SYMTYPE
                info.linkname = content.target
            else:
                info.size = len(content)
            data = io.BytesIO(content) if isinstance(content, bytes) else None
            archive.addfile(info, data)
    return out.getvalue()


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


@dataclass
class Image:
    """An image of some layers.

    Attributes:
        layers: Tars, plain.
        labels: Of the configuration.
        step: What the history says of a layer.
    """

    layers: list[bytes]
    labels: dict[str, str] = field(default_factory=dict)
    architecture: str = "amd64"
    env: list[str] = field(default_factory=list)
    compression: str = "gzip"
    step: str = "RUN step {}"

    def packed(self, data: bytes) -> tuple[bytes, str]:
        if self.compression == "gzip":
            return gzip.compress(data, mtime=0), f"{LAYER}+gzip"
        if self.compression == "zstd":
            return zstandard.compress(data), f"{LAYER}+zstd"
        return data, LAYER

    def config(self) -> bytes:
        return json.dumps(
            {
                "architecture": self.architecture,
                "os": "linux",
                "config": {"Labels": self.labels, "Env": self.env},
                "rootfs": {"type": "layers", "diff_ids": [digest(each) for each in self.layers]},
                "history": [
                    {"created_by": "ENV a=b", "empty_layer": True},
                    *({"created_by": self.step.format(n)} for n, _ in enumerate(self.layers)),
                ],
            }
        ).encode()

    def blobs(self) -> tuple[dict[str, bytes], dict[str, Any]]:
        """Return every blob by its digest, and the descriptor of the manifest."""
        blobs: dict[str, bytes] = {}

        def put(data: bytes, media: str) -> dict[str, Any]:
            blobs[digest(data)] = data
            return {"mediaType": media, "digest": digest(data), "size": len(data)}

        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": put(self.config(), CONFIG),
            "layers": [put(*self.packed(each)) for each in self.layers],
        }
        return blobs, put(json.dumps(manifest).encode(), MANIFEST)

    def files(self) -> dict[str, bytes]:
        """Return the files of an OCI layout."""
        blobs, descriptor = self.blobs()
        index = {"schemaVersion": 2, "manifests": [descriptor]}
        return {
            "oci-layout": b'{"imageLayoutVersion":"1.0.0"}',
            "index.json": json.dumps(index).encode(),
            **{f"blobs/{name.replace(':', '/')}": data for name, data in blobs.items()},
        }

    def write(self, root: Path) -> Path:
        """Write an OCI layout."""
        for name, data in self.files().items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(data)
        return root

    def write_docker(self, path: Path) -> Path:
        """Write an archive as ``docker save`` did before it wrote OCI layouts."""
        config = self.config()
        name = f"{digest(config)[7:]}.json"
        files = {
            name: config,
            **{f"{n}/layer.tar": each for n, each in enumerate(self.layers)},
            "manifest.json": json.dumps(
                [{"Config": name, "Layers": [f"{n}/layer.tar" for n, _ in enumerate(self.layers)]}]
            ).encode(),
        }
        path.write_bytes(layer(files))
        return path
