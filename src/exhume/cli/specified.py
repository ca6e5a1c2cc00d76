"""`--ksy` of cat, export and info: any file, read by a Kaitai Struct specification.

The user names a `.ksy` file, `ksy`, which describes the structure of the target; `imports` are folders with the
specifications that it imports.  A list in the target, named by `--path`, is
exported as a table with a row for each element; fields that no column can represent are omitted and named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from exhume.choices import hint
from exhume.cli import ExitCode
from exhume.cli.runtime import Run
from exhume.counts import counted
from exhume.redaction import redact

if TYPE_CHECKING:
    from exhume.layout.foreign import Specification

NAMED = 20
"""Fields without a column that are named on standard error; the schema's metadata names all of them."""

WITHOUT = "fields without a column"  # a kind of loss in the report of an export
UNREAD = "values that cannot be read"  # another kind of loss; they are null in the table
SAME = "always the same"  # reason to omit a field, which loses nothing


def specification_of(ksy: str, imports: tuple[str, ...]) -> Specification:
    """The compiled specification."""
    from exhume.layout.foreign import compile_ksy

    return compile_ksy(ksy, imports=imports)


class _Table:
    """A list of a file, with the part of an archive's interface that exporters of tables use."""

    wide_tables = False

    def __init__(self, rows: Any, path: str) -> None:
        self.rows = rows  # `SpecificationRows`
        self.path = path  # of the list, such as tables[2].rows
        self.omitted: dict[str, str] = {}  # field without a column: reason
        self.unread: dict[str, str] = {}  # field with values that cannot be read: the first error

    def arrow_tables(self, *, columns: list[str] | None, losses: Any, jobs: int = 1) -> dict[str, Callable[[], Any]]:
        """Return the only table, by the path of its list."""

        def make() -> Any:
            """Return a reader of the rows with the requested columns; count what is missing or null in the table."""
            from exhume.tabular.arrow import choose, import_pyarrow

            reader = self.rows.reader()
            tabulator = self.rows.tabulator
            self.omitted, self.unread = tabulator.omitted, tabulator.unread
            losses[WITHOUT] += sum(why != SAME for why in self.omitted.values())
            names = reader.schema.names if columns is None else choose(reader.schema.names, columns)
            schema = import_pyarrow().schema([reader.schema.field(name) for name in names], reader.schema.metadata)

            def batches() -> Iterator[Any]:
                """Yield the batches with the wanted columns; afterwards, count what could not be read."""
                for batch in reader:
                    yield batch.select(names)
                losses[UNREAD] += tabulator.unread_values

            return import_pyarrow().RecordBatchReader.from_batches(schema, batches())

        return {self.path: make}


def export_specified(
    run: Run,
    target: str,
    output: str,
    ksy: str,
    imports: tuple[str, ...],
    path: str | None,
    *,
    to: str,
    overwrite: bool,
    columns: list[str],
) -> ExitCode:
    """Export the columns (empty: all) of the list at `path` of a file, in the form `to`.

    Raises `click.UsageError` for a form that tables do not have.
    """
    report, table = _exported(run, target, output, ksy, imports, path, to, overwrite, columns)
    if run.machine:
        body = {
            "target": redact(target),
            "export_format": to,
            "output": output,
            **report.to_dict(),
            "omitted": table.omitted,
            "unread": table.unread,
        }
        run.document("export", body)
    else:
        for line in report.lines(unsaid=WITHOUT):
            run.note(line)
        _print_omitted(run, table.omitted)
        _print_omitted(run, table.unread, "null")
    return ExitCode.DONE if report.complete else ExitCode.LOSS


def _exported(
    run: Run,
    target: str,
    output: str,
    ksy: str,
    imports: tuple[str, ...],
    path: str | None,
    to: str,
    overwrite: bool,
    columns: list[str],
) -> tuple[Any, _Table]:
    """Export the list at `path` of a file read by a specification; return the report and the exported table.

    `to` is the form of the output; without `columns` (an empty list), the table has all.

    Raises `UsageError` without `--path`, or for a target that does not take lists.
    """
    from exhume.export import TARGETS
    from exhume.layout.foreign_content import SpecificationRows
    from exhume.layout.ksy_files import one_file

    known = tuple(name for name, target in TARGETS.items() if target.takes_lists)
    if to not in known:
        raise click.UsageError(f"with --ksy there is no --to {to}{hint(to, known)}: one of {', '.join(known)}")
    if path is None:
        raise click.UsageError("--ksy needs --path: the list that becomes a table, such as packets")
    specification = specification_of(ksy, imports)
    with one_file(run.take_source(target)) as source, run.progress(f"export to {to}") as progress:
        table = _Table(SpecificationRows(specification, source, path, ()), path)  # `()`: no parameters
        report = TARGETS[to].export()(table, output, overwrite=overwrite, progress=progress, columns=columns)
    return report, table


def _print_omitted(run: Run, omitted: Mapping[str, str], how: str = "no column") -> None:
    """Print a note for each omitted field with its reason, up to `NAMED`; `how` says what became of the field."""
    fields_omitted = list(omitted.items())
    for name, why in fields_omitted[:NAMED]:
        run.note(f"{how}: {name}: {why}")
    if len(fields_omitted) > NAMED:
        where = ", named in the schema's metadata" if how == "no column" else ""
        run.note(f"{how}: {counted(len(fields_omitted) - NAMED, 'more fields')}{where}")


def cat_specified(run: Run, target: str, ksy: str, imports: tuple[str, ...], path: str | None) -> ExitCode:
    """Print a list of a file as JSON lines, or without a path everything that is in it as one JSON object.

    Raises `StructureError` or `TruncatedError` for data that do not fit; what is only read now, such as a computed
    value, is null then, and is named.
    """
    from exhume.layout.foreign_content import json_pieces
    from exhume.layout.ksy_files import one_file

    if path is not None:
        report, table = _exported(run, target, "-", ksy, imports, path, "jsonl", False, [])
        _print_omitted(run, table.omitted)
        _print_omitted(run, table.unread, "null")
        return ExitCode.DONE if report.complete else ExitCode.LOSS
    specification = specification_of(ksy, imports)
    omitted: dict[str, str] = {}
    with one_file(run.take_source(target)) as source:
        value = specification.read_source(source)
        for piece in json_pieces(specification, value, omitted):
            run.out.text(piece)
    run.out.text("\n")
    _print_omitted(run, omitted, "not printed")
    return ExitCode.LOSS if omitted else ExitCode.DONE


def info_specified(run: Run, target: str, ksy: str, imports: tuple[str, ...]) -> ExitCode:
    """Print the content of a file by its specification: single values, and lists with the number of their elements.

    Values that cannot be read are named.
    """
    from exhume.layout.foreign_content import outline_of
    from exhume.layout.ksy_files import one_file

    specification = specification_of(ksy, imports)
    with one_file(run.take_source(target)) as source:
        size, value = source.size, specification.read_source(source)
        body: dict[str, Any] = {"target": redact(target), "format": f"ksy:{specification.id}", "size": size}
        title = specification.specs[specification.id]["meta"].get("title")
        if title:
            body["title"] = str(title)
        found, whole = outline_of(specification, value)  # `whole`: every value could be read
        body |= found
    if run.machine:
        run.document("info", body)
    else:
        run.print_values(body)
    return ExitCode.DONE if whole else ExitCode.LOSS
