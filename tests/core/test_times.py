"""Times of ISO 8601: what Python reads otherwise than it is meant is refused, or marked as cut."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from exhume.times import iso_time


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("2024-03-01T12:00:00.123456Z", False),
        ("2024-03-01 13:00:00,123456000+01:00", False),
        ("20240301T120000.1234560001Z", True),
        ("2024-W09-5T12:00:00.123456789Z", True),
    ],
)
def test_finer_parts_are_marked(text: str, cut: bool) -> None:
    assert iso_time(text) == (datetime(2024, 3, 1, 12, 0, 0, 123456, tzinfo=UTC), cut)


def test_dates_alone_are_times() -> None:
    for text in ("2024-03-01", "20240301", "2024-W09-5", "2024W095"):
        assert iso_time(text) == (datetime(2024, 3, 1), False)  # noqa: DTZ001 - it has no zone


@pytest.mark.parametrize("text", ["1604012312345", "2024-03-01x12:00", "20240301-1200", "soon", ""])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"after the date|isoformat"):
        iso_time(text)
