"""`exhume export --to jsonl`: the records as the archive's own JSON text, without Arrow in between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from exhume.archive import Progress, no_progress
from exhume.choices import hint
from exhume.errors import EntryNotFoundError, QueryError, shorten
from exhume.formats.clp_s.layout import NodeType
from exhume.io.output.stream import text_output
from exhume.tabular import ExportReport, refuse_options

if TYPE_CHECKING:
    from exhume.formats.clp_s.query.search import Search
    from exhume.formats.clp_s.reader import ClpSArchive


SIX_DECIMALS: Final = (
    "floats whose format is not stored have six decimals, as clp-s prints them: arrow, csv and parquet have all"
)
"""A note of the report.  Such are those of KV-IR streams, and all floats up to 0.3."""


def export_jsonl(
    archive: ClpSArchive,
    output: str,
    *,
    overwrite: bool = False,
    progress: Progress = no_progress,
    columns: Sequence[str] = (),
    query: str | None = None,
    ordered: bool = False,
    complete: bool = False,
    ignore_case: bool = False,
    tge: int | None = None,
    tle: int | None = None,
    jobs: int = 1,
    **options: Any,
) -> ExportReport:
    """One record per line, exactly as `clp-s x` prints it (with `query`: as `clp-s s` does).  The report notes if
    that rounds floats.

    `columns` are projected as by `--projection` of the native search (`EntryNotFoundError` for an unknown one);
    `complete` and `ordered` are those of `ClpSArchive.json_lines`, `jobs` threads print, and the rest are options of
    its search (`tge` and `tle`: the first and last time in epoch milliseconds).  Raises as they do, and for `options`,
    which are those of other kinds of export.
    """
    refuse_options("jsonl", options)
    report = ExportReport()
    if NodeType.FLOAT in archive.schema_tree.types:
        report.notes.append(SIX_DECIMALS)
    total = None  # the number of matches is not known in advance
    if query is None and not (columns or ignore_case) and tge is None and tle is None:
        chunks = archive.json_chunks(ordered=ordered, complete=complete, jobs=jobs)
        total = archive.num_messages
    else:
        search = archive.search(query or "*", ignore_case=ignore_case, begin_ms=tge, end_ms=tle)
        chunks = _matches(archive, search, columns, ordered=ordered, complete=complete, jobs=jobs)
    with text_output(output, overwrite=overwrite) as file:
        for chunk in chunks:
            file.write(chunk)
            report.written["rows"] += chunk.count(b"\n")
            progress(report.written["rows"], total, "rows")
    return report


def _matches(
    archive: ClpSArchive, search: Search, columns: Sequence[str], *, ordered: bool, complete: bool, jobs: int
) -> Iterator[bytes]:
    """Return the records that a search finds as chunks of JSON lines, with only `columns` if any are named.

    `ordered`: in the order of the log; `complete`: also what upstream does not print (root arrays, auto-generated keys,
    empty keys of containers in arrays); a column of these implies it.  Both are made line by line, in this thread,
    without `jobs`.

    Raises `EntryNotFoundError` for a column that no record has.
    """
    nodes = _nodes(archive, columns) if columns else None
    tree = archive.schema_tree
    # Only `complete` prints what is not below the root object, such as auto-generated keys.
    complete = complete or any(tree.path(node)[0] != tree.object_root for node in nodes or ())
    if not (ordered or complete):
        return search.chunks(nodes, jobs=jobs)
    return search.lines(ordered=ordered, complete=complete, nodes=nodes)


def _nodes(archive: ClpSArchive, columns: Sequence[str]) -> frozenset[int]:
    """Return the nodes of columns, which are named as those of the archive's table, or as in `--projection`.

    Raises `QueryError` for a name that is neither or comes twice, and `EntryNotFoundError` for a column that no record
    has.
    """
    from exhume.formats.clp_s.arrow import nodes_by_name
    from exhume.formats.clp_s.query.search import resolve_projection

    if len(set(columns)) < len(columns):
        twice = next(column for column in columns if columns.count(column) > 1)
        raise QueryError(f"column {shorten(twice)} is named twice", format="clp-s")
    known = nodes_by_name(archive)
    others = [column for column in columns if column not in known]
    for column in others:
        if not resolve_projection(archive, [column]):
            raise EntryNotFoundError(
                f"no record has such a column{hint(column, known)}", format="clp-s", actual=shorten(column)
            )
    named = (node for column in columns for node in known.get(column, ()))
    return resolve_projection(archive, others).union(named)
