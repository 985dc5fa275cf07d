"""Sources as text for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dsv4_build.sources.bundle import Packed
    from dsv4_build.sources.manifest import Manifest
    from dsv4_build.sources.model import Missing, Resolved
    from dsv4_build.sources.pull import Pulled
    from dsv4_build.sources.verify import Entry

_MIB = 1 << 20


def pulled(result: Pulled) -> str:
    """Return the sources of one tree, and what of them is missing."""
    return "".join(f"{line}\n" for line in _pulled(result))


def _pulled(result: Pulled) -> Iterator[str]:
    yield f"vLLM {result.vllm}  {result.place}"
    if result.archive is not None:
        yield f"  sha256 {result.archive.sha256}"
    yield from resolved(result.resolved)


def resolved(sources: Resolved) -> Iterator[str]:
    """Yield a line for each commit that is there, is missing, or was left out."""
    for pin in sources.pins:
        tag = f"  {pin.revision}" if pin.revision != pin.commit else ""
        yield f"  {pin.name:<44} {pin.commit[:12]}{tag}"
    for left in sources.left_out:
        yield f"  {left.project}/{left.path:<{43 - len(left.project)}} left out"
    for each in sources.missing:
        yield f"  {each.name:<44} missing: {each.url} {each.revision}"
        if each.reason:
            yield f"  {'':<44} {each.reason}"


def missing(absent: Iterable[Missing], release: str) -> tuple[str, str]:
    """Return what is missing and how to bring it, for an error."""
    lines = "".join(
        f"\n  {each.name}: {each.url} {each.revision}"
        + (f"\n    {each.reason}" if each.reason else "")
        for each in absent
    )
    modules = sorted({each.url for each in absent if each.path})
    way = f"with a network: dsv4-doctor sources pull --vllm {release}"
    way += "; for a machine without one, then sources pack there and sources import here"
    if modules:
        way += "; a submodule that the build does not read: --leave-out OWNER/NAME"
    return f"sources are missing:{lines}", way


def entries(found: Iterable[Entry]) -> Iterator[str]:
    """Yield lines for the parts of the cache."""
    for each in found:
        state = f"  {each.error}" if each.error else ""
        yield f"{each.size / _MIB:9.1f} MiB  {each.name}{state}"
        yield from (f"{'':<15}{commit}" for commit in each.commits)


def packed(result: Packed) -> str:
    """Return what was written and how large it is."""
    what = f"{result.archives} sdists and {result.repositories} repositories"
    return (
        f"{result.path}\n  {result.size / _MIB:.1f} MiB  sha256 {result.sha256}\n"
        f"  {what}, {result.inside / _MIB:.1f} MiB of content\n"
    )


def imported(content: Manifest) -> str:
    """Return what a bundle held."""
    lines = [f"{each.file}  sha256 {each.sha256}" for each in content.archives]
    for each in content.repositories:
        lines.append(each.place)
        lines += [f"  {commit}" for commit in each.commits]
    return "".join(f"{line}\n" for line in lines)
