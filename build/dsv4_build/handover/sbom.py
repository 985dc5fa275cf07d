"""The bill of materials inside a wheel: CycloneDX 1.6 (ECMA-424) at the place of PEP 770.

Equal inputs give equal bytes: the serial number comes from the content, and the one time is that of
``SOURCE_DATE_EPOCH``. Paths of the machine are no part of it.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from dsv4_build.handover.materials import package_url
from dsv4_doctor import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsv4_build.handover.archive import Identity
    from dsv4_build.handover.materials import Material
    from dsv4_build.plan import Plan

SCHEMA = "http://cyclonedx.org/schema/bom-1.6.schema.json"

# Below the .dist-info directory; a wheel may have boms of other tools there.
NAME = "sboms/dsv4-doctor.cdx.json"

_ALGORITHMS = {"sha256": "SHA-256"}


def render(plan: Plan, wheel: Identity, materials: Sequence[Material], epoch: int) -> bytes:
    """Return the bill of materials of a wheel as a file.

    Args:
        epoch: Seconds for its time.
    """
    purl = package_url("pypi", wheel.name.lower(), wheel.version)
    sources = [each for each in materials if each.role == "source"]
    crates = [each for each in materials if each.role == "crate"]
    tools = [each for each in materials if each.role == "tool"]
    content = {
        "$schema": SCHEMA,
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": _metadata(plan, wheel, purl, epoch),
        "components": [_component(each) for each in (*sources, *crates)],
        "dependencies": _dependencies(purl, sources, crates),
        "formulation": [
            {"bom-ref": "build", "components": [_component(each, "build:") for each in tools]}
        ],
    }
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).digest()
    serial = uuid.UUID(bytes=digest[:16], version=4)
    text = json.dumps({**content, "serialNumber": serial.urn}, indent=2, sort_keys=True)
    return f"{text}\n".encode()


def _metadata(plan: Plan, wheel: Identity, purl: str, epoch: int) -> dict[str, Any]:
    nvcc = plan.choices.toolchain.toolkit.nvcc_version or ""
    properties = [
        *(("dsv4-doctor:arch", arch.sm) for arch in plan.scope.archs),
        ("dsv4-doctor:nvcc", nvcc),
        *(("dsv4-doctor:proves", each) for each in plan.scope.require),
    ]
    return {
        "timestamp": datetime.fromtimestamp(epoch, timezone.utc).isoformat(),
        "lifecycles": [{"phase": "build"}],
        "tools": {
            "components": [{"type": "application", "name": "dsv4-doctor", "version": __version__}]
        },
        "component": {
            "type": "library",
            "bom-ref": purl,
            "name": wheel.name,
            "version": wheel.version,
            "purl": purl,
        },
        "properties": [{"name": name, "value": value} for name, value in properties],
    }


def _component(material: Material, prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {
        "type": "application" if material.role == "tool" else "library",
        "bom-ref": prefix + _reference(material),
        "name": material.name,
        "version": material.version,
        "purl": material.purl,
    }
    if material.role == "crate":
        found["scope"] = "optional"
    algorithm, value = material.digest
    if algorithm in _ALGORITHMS:
        found["hashes"] = [{"alg": _ALGORITHMS[algorithm], "content": value}]
    if material.url:
        found["externalReferences"] = [{"type": "vcs", "url": material.url}]
    return found


def _reference(material: Material) -> str:
    # Two projects may bring the same commit of a third as a submodule.
    return f"{material.purl}#{material.name}" if material.parent else material.purl


def _dependencies(
    purl: str, sources: Sequence[Material], crates: Sequence[Material]
) -> list[dict[str, Any]]:
    main, *others = sources
    edges = {purl: [_reference(main)], _reference(main): []}
    edges |= {_reference(each): [] for each in (*others, *crates)}
    by_name = {each.name: each for each in sources}
    for each in (*others, *crates):
        edges[_reference(by_name.get(each.parent, main))].append(_reference(each))
    return [{"ref": ref, "dependsOn": sorted(on)} for ref, on in sorted(edges.items())]
