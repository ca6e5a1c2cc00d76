"""Text for people: aligned tables, sizes and times, printable names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from exhume.counts import counting
from exhume.redaction import redact


def printable(text: str) -> str:
    """A name on one line: control characters and lone surrogates as escapes."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode("ascii") for char in text
    )


def shown(target: str) -> str:
    """A target on one line, as `printable`, without the secrets of a URL."""
    return printable(redact(target))


def human_size(size: int | None) -> str:
    """Return a size in bytes as text: `1,234 B` below 10,000, else `1.5 MiB`; `-` for None."""
    if size is None:
        return "-"
    if size < 10_000:
        return f"{size:,} B"
    power = min(4, (size.bit_length() - 1) // 10)  # of 1024
    return f"{size / (1 << 10 * power):,.1f} {'KMGT'[power - 1]}iB"


def in_words(key: str, value: Any) -> str | None:
    """A large size or a time, whose unit ends the key, in human form; None for any other value."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    if key.endswith("size"):
        return human_size(value) if value >= 10_000 else None
    scale = next((scale for unit, scale in _TIMES.items() if re.search(rf"[_ ]{unit}$", key)), None)
    return None if scale is None else human_time(value * scale)


_TIMES = {"ns": 1, "us": 1_000, "ms": 1_000_000}
"""Nanoseconds of each unit with which the key of a time ends."""

_DATED = range(631_152_000_000_000_000, 4_102_444_800_000_000_000)
"""Nanoseconds from the year 1990 to 2100: clocks that count from a start are far below."""


def human_time(ns: int) -> str | None:
    """Nanoseconds as a date in UTC if they may count from 1970, else as a duration; None below a second."""
    if ns in _DATED:
        from datetime import UTC, datetime

        second, rest = divmod(ns, 1_000_000_000)
        fraction = f".{rest:09d}".rstrip("0").rstrip(".")
        return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%S}{fraction}Z"
    if not 1_000_000_000 <= ns < _DATED.start:
        return None
    second, rest = divmod(ns, 1_000_000_000)
    fraction = f".{rest:09d}".rstrip("0").rstrip(".")
    days, hours, minutes = second // 86400, second // 3600 % 24, second // 60 % 60
    parts = [f"{days} d" if days else "", f"{hours} h" if hours else "", f"{minutes} min" if minutes else ""]
    return " ".join(filter(None, [*parts, f"{second % 60}{fraction} s"]))


_MOST_HEX = 32
"""The most bytes of a value that are shown as hexadecimal digits."""


def cell(value: Any) -> str:
    """Return one value as text on one line: bytes as UTF-8 if they are that, else as hexadecimal digits."""
    if isinstance(value, str):
        return printable(str(value))
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (bytes, bytearray)):
        try:
            value = bytes(value).decode()
        except UnicodeDecodeError:
            more = f" … ({len(value):,} {counting('bytes', len(value))})" if len(value) > _MOST_HEX else ""
            return bytes(value[:_MOST_HEX]).hex(" ") + more
    if isinstance(value, (list, tuple)):
        return ", ".join(cell(item) for item in value) or "-"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={cell(item)}" for key, item in value.items()) or "-"
    return printable(str(value))


def table(rows: Iterable[Sequence[Any]], header: Sequence[str]) -> list[str]:
    """Aligned lines under a header; columns whose values are all numbers are right-aligned."""
    return aligned(list(zip(*rows, strict=True)) or [()] * len(header), header)


def aligned(columns: Sequence[Sequence[Any]], header: Sequence[str]) -> list[str]:
    """Return the lines of a table, header first, from its columns; numbers are aligned to the right."""
    shown, forms = [], []
    for name, values in zip(header, columns, strict=True):
        # Python's % formatting of whole rows is much faster than joining cells one by one.
        types = set(map(type, values))
        texts = [name, *_texts(values, types)]
        shown.append(texts)
        forms.append(f"%{'' if types and types <= _NUMBERS else '-'}{max(map(len, texts))}s")
    form = "  ".join(forms)
    return [(form % line).rstrip() for line in zip(*shown, strict=True)]


_NUMBERS = {int, float, type(None)}
"""Types of the values of a column that is aligned to the right."""


def _texts(values: Sequence[Any], types: set[type]) -> Iterable[str]:
    """The values as strings; a repeated string is made once."""
    if types == {int}:
        return map(str, values)
    if types == {str} and all(map(str.isprintable, values)):
        return values
    if all(issubclass(one, str) or one is type(None) for one in types):
        return map({value: cell(value) for value in set(values)}.__getitem__, values)
    return map(cell, values)
