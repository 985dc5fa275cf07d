"""The result of a build as text: files with their digests, and what is proved to be inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_build.recorded_proof import Recorded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_build.engine import Built
    from dsv4_build.proof import Proof
    from dsv4_doctor.binary.contents import SharedObject

_MIB = 1 << 20


def render(built: Built) -> str:
    """Return the result as lines."""
    return "".join(f"{line}\n" for line in _lines(built))


def _lines(built: Built) -> Iterator[str]:
    for artifact in built.artifacts:
        yield artifact.path
        yield f"  {artifact.size / _MIB:.2f} MiB  sha256 {artifact.sha256}"
    yield f"network {built.plan.isolation}"
    if isinstance(built.proof, Recorded):
        yield from built.proof.lines
    else:
        yield from proof_lines(built.proof)
    for tried in built.tried:
        yield (
            f"ran     {tried.name}: largest error {tried.error:.1e}, "
            f"{tried.tolerance:.1e} allowed, {tried.seconds:.1f} s"
        )


def proof_lines(proof: Proof) -> Iterator[str]:
    """Return what is proved to be inside, as lines."""
    for inspection in proof.inspections:
        for each in inspection.objects:
            yield _contents(each)
    for decision in proof.decisions:
        yield f"proved  {decision.requirement:<10}{decision.reason}"
    for extension in proof.absent:
        kind = "optional" if extension.optional else "declared"
        needing = proof.needed.get(extension.name)
        also = f"; needed by {', '.join(needing)}" if needing else ""
        yield f"absent  {extension.name}: {kind} in {extension.place}, not in the wheel{also}"
    if proof.loaded is not None:
        yield f"loads   {', '.join(proof.loaded.modules) or 'nothing'}, in a clean environment"
        if proof.loaded.stubbed:
            yield f"loads   {', '.join(proof.loaded.stubbed)}, with a stand-in for the driver"
        for name, why in proof.loaded.untried:
            yield f"untried {name}: {why}"
    for trace in proof.traces:
        times = "once" if trace.count == 1 else f"{trace.count} times"
        yield f"names   {trace.file}: {trace.what}, {times}: {trace.place}"


def _contents(each: SharedObject) -> str:
    code = " ".join((*each.sass, *each.ptx)) or "no device code"
    families = ", ".join(dict.fromkeys(family.family for family in each.families))
    return f"  {each.name}: {code}" + (f" ({families})" if families else "")
