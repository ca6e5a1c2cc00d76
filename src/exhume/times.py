"""Times of ISO 8601, as options and records spell them.

`datetime.fromisoformat` reads two kinds of text as other times than they mean, without an error: it takes any character
between date and clock for a separator, so that the milliseconds `1604012312345` become 23:45 of a day in 1604, and it
cuts the fraction of a second after six digits.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""What times count from."""

_FORM: Final = re.compile(r"[0-9W-]{7,10}(?:[Tt ].*)?", re.DOTALL)
"""A date (of a month or a week, with hyphens or without) alone, or before a `T` or a space."""

_FINER: Final = re.compile(r"[.,][0-9]{6}0*[1-9]")
"""A fraction with a part that is smaller than a microsecond."""


def iso_time(text: str) -> tuple[datetime, bool]:
    """Parse a date, or a date and time, of ISO 8601; without a zone the result has none either.

    Args:
        text: The text, such as `2024-03-01T12:00:00.123Z`.

    Returns:
        `(time, whether it was cut)`: the time in whole microseconds, and whether the text states a finer one.  Zeros
        after the sixth digit do not count.

    Raises:
        ValueError: The text is not such a time, or outside the years 1 to 9999.
    """
    found = datetime.fromisoformat(text)
    if not _FORM.fullmatch(text):
        raise ValueError(f"neither T nor a space after the date: {text[:80]!r}")
    return found, _FINER.search(text) is not None
