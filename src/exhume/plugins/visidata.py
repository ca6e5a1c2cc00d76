"""VisiData: archives as sheets (entry point `visidata.plugins`), recognized by their bytes or named by `-f exhume`.

An archive is the sheet of its Arrow table, read batch by batch; several tables (the channels of an Ark log) are listed
in a sheet of their own, from which each is opened.  Times are strings with all their digits,
bytes are shown as text, nested values as Python's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from visidata import IndexSheet, ItemColumn, Path, Sheet, VisiData, anytype, vd

import exhume
from exhume.errors import ExhumeError
from exhume.export._tables import json_column
from exhume.tabular.arrow import import_pyarrow

LIKELIHOOD = 20
"""How strongly we claim a path: twice as much as VisiData's own guess for a directory."""


class TableSheet(Sheet):  # type: ignore[misc]
    """The rows of one table; `make` returns the reader of its batches.  (VisiData stores arguments as attributes.)"""

    rowtype = "rows"

    def iterload(self) -> Iterator[list[Any]]:
        """Yield the rows; damage becomes an error of the sheet, after the rows that precede it."""
        try:
            reader = self.make()
            pa = import_pyarrow()
            self.columns: list[Any] = []
            for place, field in enumerate(reader.schema):
                kind = _type(pa, field.type)
                self.addColumn(ItemColumn(field.name, place, type=kind, fmtstr="{}" if kind is float else ""))
            for batch in reader:
                columns = [map(_shown, json_column(pa, column)) for column in batch.columns]
                yield from map(list, zip(*columns, strict=True))
        except ExhumeError as error:
            vd.fail(str(error))


class TablesSheet(IndexSheet):  # type: ignore[misc]
    """The tables of an archive that has several: `tables` has the `make` of each, by its name."""

    def iterload(self) -> Iterator[TableSheet]:
        """Yield a sheet per table."""
        for name, make in self.tables.items():
            yield TableSheet(name, source=self, make=make)


def _type(pa: Any, kind: Any) -> Any:
    """The type of a column in VisiData for an Arrow type."""
    types = pa.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    for is_kind, shown in (
        (types.is_boolean, bool),
        (types.is_integer, int),
        (types.is_floating, float),
        (types.is_string, str),
        (types.is_large_string, str),
    ):
        if is_kind(kind):
            return shown
    return anytype


def _shown(value: Any) -> Any:
    """Return bytes as text with escapes, other values as they are."""
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value


@VisiData.api  # type: ignore[untyped-decorator]
def open_exhume(vd: Any, p: Any) -> Any:
    """The sheet of the archive at a path `p`, or of its tables where it has several."""
    try:
        tables = exhume.open(str(p)).arrow_tables()
    except ExhumeError as error:
        vd.fail(str(error))
    if len(tables) == 1:
        (make,) = tables.values()
        return TableSheet(p.base_stem, source=p, make=make)
    return TablesSheet(p.base_stem, source=p, tables=tables)


@VisiData.api  # type: ignore[untyped-decorator]
def guess_exhume(vd: Any, p: Any) -> dict[str, Any] | None:
    """VisiData's description of a path that is an archive."""
    if not isinstance(p, Path) or p.is_url() or p.has_fp():
        return None
    try:
        found = exhume.identify(str(p))
    except (ExhumeError, OSError):
        return None
    # 0.5: `exhume.open` opens what is at least as certain.
    return {"filetype": "exhume", "_likelihood": LIKELIHOOD} if found and found[0].confidence >= 0.5 else None


# VisiData opens a file by the function that is named after its extension.
for _suffix in ("zs", "clps", "clp", "caf"):
    setattr(VisiData, f"open_{_suffix}", VisiData.open_exhume)
