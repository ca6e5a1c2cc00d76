"""Text for people: aligned tables, sizes, printable names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from exhume.counts import counting
from exhume.redaction import redact


def printable(text: str) -> str:
    """A name on one line: control characters and lone surrogates as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode("ascii") for c in text)


def shown(target: str) -> str:
    """A target on one line, as `printable`, without the secrets of a URL."""
    return printable(redact(target))


def human_size(size: int | None) -> str:
    """`1,234 B` or `1.5 MiB`."""
    if size is None:
        return "-"
    if size < 10_000:
        return f"{size:,} B"
    power = min(4, (size.bit_length() - 1) // 10)
    return f"{size / (1 << 10 * power):,.1f} {'KMGT'[power - 1]}iB"


_MOST_HEX = 32
"""Bytes that are not text are shown as hexadecimal digits, of longer values so many."""


def cell(value: Any) -> str:
    """One value as text."""
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
    """Return the lines of a table, header first, from its columns; numbers are aligned to the right.

    A column has at least one value.
    """
    shown, forms = [], []
    for name, values in zip(header, columns, strict=True):
        types = set(map(type, values))
        texts = [name, *_texts(values, types)]
        shown.append(texts)
        forms.append(f"%{'' if types and types <= _NUMBERS else '-'}{max(map(len, texts))}s")
    form = "  ".join(forms)
    return [(form % line).rstrip() for line in zip(*shown, strict=True)]


_NUMBERS = {int, float, type(None)}


def _texts(values: Sequence[Any], types: set[type]) -> Iterable[str]:
    """The values as strings; a repeated string is made once."""
    if types == {int}:
        return map(str, values)
    if types == {str} and all(map(str.isprintable, values)):
        return values
    if all(issubclass(one, str) or one is type(None) for one in types):
        return map({value: cell(value) for value in set(values)}.__getitem__, values)
    return map(cell, values)
