"""How a wheel came about: an in-toto statement with SLSA's provenance predicate, version 1.

``buildDefinition`` is what was asked for and used, the same for every build of the same inputs;
``runDetails`` is about this one run. Nothing signs it here: whoever vouches for it signs the file,
with cosign or as a site does.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dsv4_doctor import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsv4_build.handover.materials import Material
    from dsv4_build.plan import Plan

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://slsa.dev/provenance/v1"
BUILD_TYPE = "urn:dsv4-doctor:build:1"
BUILDER = "urn:dsv4-doctor:local"

# What is put behind the wheel's name.
SUFFIX = ".provenance.json"


def statement(
    plan: Plan, subject: tuple[str, str], materials: Sequence[Material], times: tuple[str, str]
) -> dict[str, Any]:
    """Return the statement about a wheel.

    Args:
        subject: Name and SHA-256 of the wheel.
        times: When the run began and ended, as ISO 8601.
    """
    name, digest = subject
    began, ended = times
    return {
        "_type": STATEMENT,
        "subject": [{"name": name, "digest": {"sha256": digest}}],
        "predicateType": PREDICATE,
        "predicate": {
            "buildDefinition": definition(plan, materials),
            "runDetails": {
                "builder": {"id": BUILDER, "version": {"dsv4-doctor": __version__}},
                "metadata": {
                    "invocationId": f"{plan.step('compile').key}@{began}",
                    "startedOn": began,
                    "finishedOn": ended,
                },
            },
        },
    }


def definition(plan: Plan, materials: Sequence[Material]) -> dict[str, Any]:
    """Return what was asked for and used."""
    source = plan.tree.source
    only = plan.scope.only
    return {
        "buildType": BUILD_TYPE,
        "externalParameters": {
            "source": {
                "kind": source.kind,
                "version": source.version or plan.tree.recipe.version,
                "sha256": source.digest,
            },
            "recipe": plan.tree.recipe.name,
            "archs": [arch.sm for arch in plan.scope.archs],
            "require": list(plan.scope.require),
            "only": [*map(str, only.units), *only.components] if only is not None else [],
        },
        "internalParameters": {
            "paths": plan.view.kind,
            "environment": _environment(plan),
        },
        "resolvedDependencies": [_dependency(each) for each in materials],
    }


def _environment(plan: Plan) -> dict[str, str]:
    """Return the variables that can change the result, without this machine's own paths."""
    hidden = {plan.work: "{work}", plan.choices.toolchain.root: "{cuda}"}
    found: dict[str, str] = {}
    for name, value in plan.environment.identity.items():
        text = value
        for path, label in hidden.items():
            text = text.replace(path, label)
        found[name] = text
    return found


def _dependency(material: Material) -> dict[str, Any]:
    algorithm, value = material.digest
    found: dict[str, Any] = {"name": material.name, "uri": material.purl}
    if algorithm:
        found["digest"] = {algorithm: value}
    return {**found, "annotations": {"role": material.role, "version": material.version}}


def render(content: dict[str, Any]) -> bytes:
    """Return a statement as a file."""
    return f"{json.dumps(content, indent=2, sort_keys=True)}\n".encode()
