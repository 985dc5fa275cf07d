"""The verdict over two builds as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.formats import difference_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_build.reproduce.verify import Verdict

_WIDTH = 10


def render(verdict: Verdict) -> str:
    """Return the verdict as lines."""
    return "".join(f"{line}\n" for line in _lines(verdict))


def _lines(verdict: Verdict) -> Iterator[str]:
    yield f"{'paths':<{_WIDTH}}{verdict.paths}"
    for each in verdict.variations:
        told = f"{each.first} | {each.second}" if each.varied else "not varied"
        yield f"{each.name:<{_WIDTH}}{told}" + (f"  ({each.note})" if each.note else "")
    for file in verdict.files:
        yield f"{'same' if file.same else 'DIFFERS':<{_WIDTH}}{file.name}"
        for digest in dict.fromkeys((file.first, file.second)):
            yield f"{'':<{_WIDTH}}{f'sha256 {digest}' if digest else 'not there'}"
    for difference in verdict.differences:
        yield from difference_text.render(difference).splitlines()
    for report in verdict.reports:
        yield from report.splitlines()
    varied = sum(each.varied for each in verdict.variations)
    if verdict.same:
        yield f"the same bytes under {varied} variations"
        yield from (artifact.path for artifact in verdict.artifacts)
    else:
        yield f"not the same bytes; both results are in {verdict.kept}"
