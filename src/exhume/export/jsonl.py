"""`--to jsonl`: the archive's table as JSON, one object per row and line.

As in all JSON of exhume, integers beyond 2^53 are text, and bytes are `{"text": …}` with `"base64"` where the text
is not exact: nothing is lost.
"""

from __future__ import annotations

from typing import Any

from exhume.export._tables import TableFile, exporter, json_column
from exhume.io.jsonout import dumps

ACCEPTS = "tables"


class JsonLinesFile(TableFile):
    """A file of JSON objects; nulls are kept."""

    suffix = "jsonl"
    is_text = True

    def write(self, batch: Any) -> None:
        names = self.schema.names
        columns = [json_column(self.pa, column) for column in batch.columns]
        lines = [dumps(dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True)]
        self.file.write("".join(f"{line}\n" for line in lines).encode("ascii"))

    def close(self) -> None:
        """Does nothing: every batch is written at once."""


export = exporter(JsonLinesFile)
