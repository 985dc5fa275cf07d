"""A finished image as text: its layers with their sizes, and what is proved to be inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_build.image import steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_build.image.making import Made

_MIB = 1 << 20


def render(made: Made) -> str:
    """Return the result as lines."""
    return "".join(f"{line}\n" for line in _lines(made))


def _lines(made: Made) -> Iterator[str]:
    yield made.output
    yield f"  {made.summary.digest}  {made.summary.platform}, by {made.engine}"
    for each in made.summary.layers:
        size = f"{each.size / _MIB:9.1f} MiB  {each.unpacked / _MIB:9.1f} unpacked"
        yield f"  {each.digest[7:19]} {size}  {steps.made(each.made_by)}"
    pulled = sum(each.size for each in made.summary.layers)
    wheel = next((each for each in made.summary.layers if steps.WHEEL in each.made_by), None)
    yield f"  {pulled / _MIB:.1f} MiB to pull" + (
        f", {wheel.size / _MIB:.1f} MiB of them for another wheel" if wheel is not None else ""
    )
    if made.reproduced:
        yield "reproduced  a second build has the same digest"
    for claim in made.summary.claims:
        # An image with a false one is never put anywhere.
        mark = "proved" if claim.status == "true" else "unknown"
        yield f"{mark:<8}{claim.label} {claim.value}: {claim.reason}"
    if made.pushed:
        yield f"pushed  {made.pushed}"
        if made.pushed != made.summary.digest:
            yield "  the engine compressed it anew: the registry's digest is the one to pull by"
    if made.sbom:
        yield f"bill of materials  {made.sbom}"
