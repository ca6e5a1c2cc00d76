"""Text for people: aligned tables and key/value lists, sizes, printable names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def printable(text: str) -> str:
    """A name on one line: control characters and lone surrogates as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode("ascii") for c in text)


def human_size(size: int | None) -> str:
    """`1,234 B` or `1.5 MiB`."""
    if size is None:
        return "-"
    if size < 10_000:
        return f"{size:,} B"
    power = min(4, (size.bit_length() - 1) // 10)
    return f"{size / (1 << 10 * power):,.1f} {'KMGT'[power - 1]}iB"


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
        value = bytes(value).decode("utf-8", "replace")
    if isinstance(value, (list, tuple)):
        return ", ".join(cell(item) for item in value) or "-"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={cell(item)}" for key, item in value.items()) or "-"
    return printable(str(value))


def table(rows: Iterable[Sequence[Any]], header: Sequence[str]) -> list[str]:
    """Aligned lines under a header; columns whose values are all numbers are right-aligned."""
    columns = list(zip(*rows, strict=True)) or [()] * len(header)
    shown = [_column(name, values) for name, values in zip(header, columns, strict=True)]
    return ["  ".join(line).rstrip() for line in zip(*shown, strict=True)]


def _column(name: str, values: Sequence[Any]) -> list[str]:
    """The header and the values as texts of the same length."""
    texts = [name, *map(cell, values)]
    width = max(map(len, texts))
    if values and all(map(_is_number, values)):
        return [text.rjust(width) for text in texts]
    return [text.ljust(width) for text in texts]


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def key_values(data: Mapping[str, Any], indent: str = "") -> list[str]:
    """A nested mapping as aligned `key  value` lines; lists of mappings become tables."""
    lines: list[str] = []
    width = max((len(_label(key)) for key, value in data.items() if not _nested(value)), default=0)
    for key, value in data.items():
        if not _nested(value):
            shown = cell(value)
            if key.endswith("size") and isinstance(value, int) and value >= 10_000:
                shown += f"  ({human_size(value)})"
            lines.append(f"{indent}{_label(key).ljust(width)}  {shown}".rstrip())
            continue
        lines.append(f"{indent}{_label(key)}:")
        if isinstance(value, Mapping):
            lines += key_values(value, indent + "  ")
        else:
            header = list(dict.fromkeys(name for item in value for name in item))
            rows = ([item.get(name) for name in header] for item in value)
            lines += [f"{indent}  {line}" for line in table(rows, [_label(name) for name in header])]
    return lines


def _label(key: str) -> str:
    return printable(str(key).replace("_", " "))


def _nested(value: Any) -> bool:
    if isinstance(value, Mapping):
        return bool(value)
    return isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) for item in value)
