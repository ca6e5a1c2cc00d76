"""`--to csv`: the archive's table as CSV, written and escaped by `pyarrow.csv`.

Strings are quoted where necessary, quotes in them are doubled; null is an empty field and an empty string is `""`.
Control characters are escaped, and counted as changed.
"""

from __future__ import annotations

from typing import Any

from exhume.export._tables import TableFile, exporter, flat_column
from exhume.tabular.report import ESCAPED, escape_controls

ACCEPTS = "tables"


class CsvFile(TableFile):
    """A CSV file with a header line."""

    suffix = "csv"
    is_text = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        from pyarrow.csv import CSVWriter

        pa = self.pa
        self._flat = pa.schema(
            [
                pa.field(escape_controls(field.name), flat_column(pa, pa.nulls(0, field.type), self.report.lost).type)
                for field in self.schema
            ]
        )
        self.report.lost[ESCAPED] += sum(name != escape_controls(name) for name in self.schema.names)
        self._writer = CSVWriter(self.file, self._flat)

    def write(self, batch: Any) -> None:
        columns = [flat_column(self.pa, column, self.report.lost) for column in batch.columns]
        self._writer.write_batch(self.pa.RecordBatch.from_arrays(columns, schema=self._flat))

    def close(self) -> None:
        self._writer.close()


export = exporter(CsvFile)
