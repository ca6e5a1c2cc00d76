"""Archives as tables: Arrow types and batches (`arrow`), datasets, very wide tables, and the report of an export."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from exhume.counts import counted
from exhume.errors import WriterError

ESCAPED = "texts with control characters"
"""The kind of loss of values that `escape_controls` changes."""

CONTROLS = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
"""Characters that a terminal or a spreadsheet obeys, except tab and line ends, which CSV quotes."""


def escape_controls(text: str) -> str:
    """Return text for CSV: control characters, except tab and line ends, become escapes of JSON such as `\\u001b`."""
    return text if text.isprintable() else re.sub(CONTROLS, lambda found: f"\\u{ord(found[0]):04x}", text)


@dataclass(slots=True)
class ExportReport:
    """Counts of written, coerced and omitted items; anything coerced or omitted makes the exit code 3."""

    written: Counter[str] = field(default_factory=Counter)  # by kind, such as "rows"
    lost: Counter[str] = field(default_factory=Counter)  # by kind of loss
    notes: list[str] = field(default_factory=list)  # sentences for people

    @property
    def complete(self) -> bool:
        """Whether nothing was coerced or left out."""
        return not sum(self.lost.values())

    def add(self, other: ExportReport) -> None:
        """Add the counts and notes of another report."""
        self.written.update(other.written)
        self.lost.update(other.lost)
        self.notes += other.notes

    def without_zeros(self) -> ExportReport:
        """The report, without the kinds of loss that did not happen."""
        for kind in [kind for kind, count in self.lost.items() if not count]:
            del self.lost[kind]
        return self

    def lines(self, *, unsaid: str = "") -> Iterator[str]:
        """Summary for a command to print: the counts, each kind of loss but `unsaid`, and the notes."""
        yield ", ".join(counted(count, kind) for kind, count in self.written.items()) or "nothing written"
        yield from (f"lost: {kind}: {count}" for kind, count in self.lost.items() if count and kind != unsaid)
        yield from self.notes

    def to_dict(self) -> dict[str, Any]:
        """The JSON form documented for `exhume export --json`."""
        return {"written": dict(self.written), "lost": dict(self.lost), "notes": list(self.notes)}


def refuse_options(target: str, options: Mapping[str, Any]) -> None:
    """Raise `WriterError` for an option that does not apply to this target."""
    for name, value in options.items():
        if value is not None and value is not False and value not in ((), ""):
            raise WriterError(f"{name.replace('_', ' ')} does not apply to {target}")
