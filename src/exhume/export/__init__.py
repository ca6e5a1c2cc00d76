"""Other ecosystems: the targets of `exhume export --to NAME`, in one table.

The function of a target is `export(archive, output, *, overwrite, progress, **options) -> ExportReport`, where `output`
is a path or `"-"`.  Targets that only one format can serve are `exports` of that format's `cli` instead, with the same
signature.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from exhume.late import resolve
from exhume.tuples import NamedTuple


class Target(NamedTuple):
    """One target.

    Attributes:
        accepts: `"members"`, or `"tables"`: archives that have `to_arrow`, whose options it takes.
        function: `"module:function"`, relative to this package.
        suffix: ending of its files, without the dot.
        options: names of options that it has itself.
        takes_lists: whether it takes a list in any file that a specification describes (`--ksy`).
    """

    accepts: str
    function: str
    suffix: str
    options: tuple[str, ...] = ()
    takes_lists: bool = False

    def export(self) -> Callable[..., Any]:
        """The function, imported when it is used."""
        found: Callable[..., Any] = resolve(__name__, self.function)
        return found


TARGETS = {
    "arrow": Target("tables", "table_files:export_arrow", "arrow", takes_lists=True),
    "csv": Target("tables", "table_files:export_csv", "csv", takes_lists=True),
    "fsspec-reference": Target("members", "members:export_references", "json", ("url",)),
    "jsonl": Target("tables", "table_files:export_jsonl", "jsonl", takes_lists=True),
    "parquet": Target("tables", "table_files:export_parquet", "parquet", takes_lists=True),
    "tar": Target("members", "members:export_tar", "tar", ("jobs",)),
    "timesketch": Target("tables", "timesketch:export", "jsonl", ("time", "message", "clock_start")),
    "zip": Target("members", "members:export_zip", "zip", ("jobs",)),
}
"""Every target by its name."""
