"""Giving a layout of buildah's what its OCI format leaves out, and nothing of this machine."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from dsv4_build.image.engines import Task

# OCI's specification has no health check, but Docker and podman read it from the same place, and
# BuildKit writes it there. Nanoseconds. The same as in the Dockerfile.
_SECOND = 1_000_000_000
HEALTHCHECK = {
    "Test": ["CMD", "/opt/venv/bin/python3", "-I", "/opt/dsv4/entrypoint", "--health"],
    "Interval": 30 * _SECOND,
    "Timeout": 10 * _SECOND,
    "StartPeriod": 1800 * _SECOND,
    "Retries": 3,
}
# buildah notes which image of its own storage a step began from.
_FROM = re.compile(r"\s+FROM \S+$")


def seal(layout: Path, task: Task) -> None:
    """Write configuration and manifest of a layout of one image anew.

    Labels, annotations and the health check are set; names of this machine's storage go.
    """
    index = _json(layout / "index.json")
    manifest = _json(_blob(layout, index["manifests"][0]["digest"]))
    config = _json(_blob(layout, manifest["config"]["digest"]))
    moment = datetime.fromtimestamp(task.epoch, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    config["created"] = moment
    inner = config.setdefault("config", {})
    inner["Labels"] = {**(inner.get("Labels") or {}), **task.labels}
    inner["Healthcheck"] = HEALTHCHECK
    for entry in config.get("history", ()):
        entry["created_by"] = _FROM.sub("", str(entry.get("created_by", "")))
        entry.pop("comment", None)
    # As Go writes a manifest, so that pushing it from the engine's storage keeps its digest.
    manifest["annotations"] = dict(sorted(task.annotations.items()))
    manifest["config"] = _replace(layout, manifest["config"], config)
    descriptor = _replace(layout, index["manifests"][0], manifest)
    descriptor.pop("annotations", None)
    index["manifests"] = [descriptor]
    (layout / "index.json").write_text(_text(index), encoding="utf-8")


def _replace(layout: Path, descriptor: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    data = _text(document).encode()
    _blob(layout, descriptor["digest"]).unlink()
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    _blob(layout, digest).write_bytes(data)
    return {**descriptor, "digest": digest, "size": len(data)}


def _text(document: dict[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def _json(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def _blob(layout: Path, digest: str) -> Path:
    return layout / "blobs" / digest.replace(":", "/")
