"""Counts, durations and sizes read well at every magnitude."""

from __future__ import annotations

import pytest

from cuda_wheel.builder.report.quantities import count_text, seconds_text, size_text

pytestmark = pytest.mark.one_toolchain


@pytest.mark.parametrize(("count", "expected"), [(0, "0 jobs"), (1, "1 job"), (2, "2 jobs")])
def test_a_noun_is_plural_except_for_one(count: int, expected: str) -> None:
    assert count_text(count, "job") == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "0.00 s"),
        (0.25, "0.25 s"),
        (0.994, "0.99 s"),
        (0.996, "1.0 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (99.4, "99 s"),
        (99.6, "1 min 40 s"),
        (119.7, "2 min 0 s"),
        (3599.4, "59 min 59 s"),
        (3599.6, "1 h 0 min"),
        (7380, "2 h 3 min"),
        (86400, "24 h 0 min"),
    ],
)
def test_a_duration_has_two_or_three_digits_that_matter(seconds: float, expected: str) -> None:
    """A number that is rounded up to the next unit is written in that unit: never "60 s" after minutes, or "1.00 s"."""
    assert seconds_text(seconds) == expected


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        ((1 << 20) - 60, "1023.9 KiB"),
        ((1 << 20) - 1, "1.0 MiB"),
        (1 << 20, "1.0 MiB"),
        ((1 << 30) - 1, "1.0 GiB"),
        (3 << 29, "1.5 GiB"),
        (5 << 40, "5120.0 GiB"),
    ],
)
def test_a_size_is_in_the_largest_unit_that_it_reaches(count: int, expected: str) -> None:
    assert size_text(count) == expected
