from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dsv4_build.schedule.curve import BINS, FLAT, Curve, Sample, from_samples, merged

_SAMPLES = st.lists(st.builds(Sample, st.floats(0, 100), st.integers(0, 1 << 40)), max_size=50).map(
    lambda found: sorted(found, key=lambda sample: sample.cpu_seconds)
)


@given(_SAMPLES, st.floats(0, 200))
def test_a_curve_of_any_samples_has_its_peak_and_stays_within_it(
    samples: list[Sample], seconds: float
) -> None:
    curve = from_samples(samples, seconds)
    assert len(curve.levels) == BINS
    assert all(0 <= level <= 1 for level in curve.levels)
    assert Curve.from_json(curve.to_json()).levels == pytest.approx(curve.levels, abs=0.0051)


@given(_SAMPLES.filter(lambda samples: any(sample.memory for sample in samples)))
@example([Sample(0, 1), Sample(0, 0)])
@example([Sample(0, 0), Sample(5, 9), Sample(5, 1), Sample(5, 1), Sample(10, 0)])
def test_no_sample_is_above_the_curve(samples: list[Sample]) -> None:
    seconds = samples[-1].cpu_seconds * 1.01 + 0.1
    curve, peak = from_samples(samples, seconds), max(sample.memory for sample in samples)
    for sample in samples:
        assert sample.memory <= curve.at(sample.cpu_seconds / seconds) * peak * (1 + 1e-9)


def test_a_peak_between_two_parts_is_seen_on_both_sides() -> None:
    curve = from_samples([Sample(0, 1), Sample(5, 100), Sample(10, 1)], 12)
    assert curve.at(5 / 12) == 1
    assert curve.at(0.0) == 1  # nothing was seen between 0 and 5 seconds
    assert curve.at(0.95) == 0.01


def test_nothing_is_used_after_the_end() -> None:
    assert FLAT.at(1.0) == 0
    assert FLAT.at(0.99) == 1


def test_nothing_known_is_the_whole_peak_for_the_whole_life() -> None:
    assert from_samples([], 10) == merged([]) == FLAT


def test_merged_curves_have_a_peak_of_one() -> None:
    early, late = Curve((1.0, 0.0)), Curve((0.0, 0.5))
    assert max(merged([early, late]).levels) == 1
    assert merged([early, late]).at(0.9) == 0.5


@pytest.mark.parametrize("percents", [[], [101], [-1], [50, 1000]])
def test_a_curve_outside_its_range_is_refused(percents: list[float]) -> None:
    with pytest.raises(ValueError, match="0 to 100"):
        Curve.from_json(percents)
