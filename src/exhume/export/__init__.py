"""Other ecosystems: each module is one target of `exhume export --to NAME`, found by its name.

A module `exhume.export.<name>` (`-` becomes `_`) has

- `ACCEPTS`: `"members"`, `"records"`, `"any"`, or `"tables"`: what has `to_arrow`, whose options it takes
- `export(archive, output, *, overwrite, progress, **options) -> ExportReport`, where `output` is a path or `"-"`

Targets that only one format can serve are listed in that format's `cli.EXPORTS` instead, with the same signature.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class ExportReport:
    """What was written, and what was coerced or left out (any of which makes the exit code 3)."""

    written: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether nothing was lost on the way."""
        return not sum(self.lost.values())

    def without_zeros(self) -> ExportReport:
        """The report itself, without kinds of loss that did not happen."""
        for kind in [kind for kind, count in self.lost.items() if not count]:
            del self.lost[kind]
        return self

    def to_dict(self) -> dict[str, Any]:
        """The JSON form documented for `exhume export --json`."""
        return {"written": dict(self.written), "lost": dict(self.lost), "notes": list(self.notes)}
