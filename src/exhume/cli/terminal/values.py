"""Nested values as aligned lines, `key  value`, with sizes and times in a form for people."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from exhume.cli.render import cell, human_size, printable
from exhume.cli.terminal.screen import PLAIN, Screen


def key_values(data: Mapping[str, Any], screen: Screen = PLAIN, indent: str = "") -> list[str]:
    """Return a nested mapping as aligned `key  value` lines; lists of mappings become tables.

    Large sizes and times are followed by a form for people.  On a terminal, the lines fit its width.
    """
    lines: list[str] = []
    width = max((len(_label(key)) for key, value in data.items() if not _nested(value)), default=0)
    for key, value in data.items():
        label = _label(key)
        if not _nested(value):
            text = cell(value)
            if (more := in_words(key, value)) is not None:
                text += f"  ({more})"
            first, *rest = screen.wrap(f"{indent}{label.ljust(width)}  {text}".rstrip(), len(indent) + width + 2)
            head = len(indent) + len(label)
            first = indent + screen.paint(label, "heading") + screen.paint(first[head:], _styled(key, value))
            lines += [first, *rest]
            continue
        lines.append(f"{indent}{screen.paint(label, 'heading')}:")
        if isinstance(value, Mapping):
            lines += key_values(value, screen, indent + "  ")
        else:
            header = list(dict.fromkeys(name for item in value for name in item))
            rows = ([item.get(name) for name in header] for item in value)
            names = [_label(name) for name in header]
            made = screen.narrower(len(indent) + 2).table(rows, names)
            lines += [f"{indent}  {line}" for line in made]
    return lines


def in_words(key: str, value: Any) -> str | None:
    """A large size or a time, whose unit ends the key, in human form; None for any other value."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    if key.endswith("size"):
        return human_size(value) if value >= 10_000 else None
    scale = next((scale for unit, scale in _TIMES.items() if re.search(rf"[_ ]{unit}$", key)), None)
    return None if scale is None else human_time(value * scale)


_TIMES = {"ns": 1, "us": 1_000, "ms": 1_000_000}

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


def _styled(key: str, value: Any) -> str:
    return str(value) if key in ("verdict", "severity") else "target" if key == "target" else ""


def _label(key: str) -> str:
    return printable(str(key).replace("_", " "))


def _nested(value: Any) -> bool:
    if isinstance(value, Mapping):
        return bool(value)
    return isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) for item in value)
