"""The bill of materials of an image, in CycloneDX, from what lies in its file system."""

from __future__ import annotations

import json
import re
import uuid
from datetime import datetime, timezone
from email.parser import HeaderParser
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from dsv4_doctor import __version__
from dsv4_doctor.images.claims import distributions, normal
from dsv4_doctor.images.image import OS_RELEASE, STATUS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_build.image.facts import Wheel
    from dsv4_build.toolchain.pins import Selection
    from dsv4_doctor.images.image import Contents

_NAMESPACE = uuid.UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")  # RFC 9562, for URLs
_ID = re.compile(r"^ID=\"?(\w+)", re.MULTILINE)


def render(
    contents: Contents, wheel: Wheel, toolkit: Selection | None, name: str, epoch: int
) -> str:
    """Return the document as JSON that ends with a line feed; the same image gives the same bytes.

    Args:
        toolkit: The parts that a toolkit from PyPI was assembled of, ``None`` for another.
        name: What the image is called.
        epoch: Time of the image, in seconds.
    """
    digest = contents.summary.digest
    moment = datetime.fromtimestamp(epoch, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    parts = {each["purl"]: each for each in _components(contents, wheel, toolkit)}
    tool = {"type": "application", "name": "dsv4-doctor", "version": __version__}
    image = {
        "type": "container",
        "bom-ref": digest,
        "name": name,
        "version": digest,
        "properties": [{"name": k, "value": v} for k, v in sorted(contents.summary.labels.items())],
    }
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(_NAMESPACE, digest)}",
        "version": 1,
        "metadata": {"timestamp": moment, "tools": {"components": [tool]}, "component": image},
        "components": [parts[key] for key in sorted(parts)],
    }
    return json.dumps(document, indent=2) + "\n"


def _components(
    contents: Contents, wheel: Wheel, toolkit: Selection | None
) -> Iterator[dict[str, Any]]:
    for found in distributions(contents.tree):
        hashes = {"SHA-256": wheel.sha256} if normal(found.name) == wheel.name else {}
        yield _component(f"pypi/{normal(found.name)}", found.name, found.version, hashes)
    for part in toolkit.parts if toolkit is not None else ():
        hashes = {"SHA-256": part.sha256[toolkit.machine]} if toolkit is not None else {}
        yield _component(f"pypi/{part.name}", part.name, part.version, hashes)
    match = _ID.search(_text(contents, OS_RELEASE))
    yield from _debian(_text(contents, STATUS), match[1] if match else "debian")


def _text(contents: Contents, path: str) -> str:
    entry = contents.tree.get(path)
    if entry is None or entry.content is None:
        return ""
    return entry.content.read(0, entry.content.size).decode("utf-8", "replace")


def _debian(status: str, distribution: str) -> Iterator[dict[str, Any]]:
    for paragraph in status.split("\n\n"):
        fields = HeaderParser().parsestr(paragraph)
        name, version = fields.get("Package"), fields.get("Version")
        if name and version and str(fields.get("Status", "")).endswith(" installed"):
            architecture = fields.get("Architecture", "all")
            yield _component(
                f"deb/{distribution}/{name}", name, version, {}, f"?arch={architecture}"
            )


def _component(
    kind: str, name: str, version: str, hashes: dict[str, str], qualifiers: str = ""
) -> dict[str, Any]:
    purl = f"pkg:{kind}@{quote(version, safe='')}{qualifiers}"
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "purl": purl,
    }
    if hashes:
        component["hashes"] = [{"alg": k, "content": v} for k, v in hashes.items()]
    return component
