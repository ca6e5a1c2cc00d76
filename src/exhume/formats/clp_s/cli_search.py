"""`exhume search` on clp-s archives: matches, counts, counts by time, plans.

A search of KV-IR streams uses it as well, on archives in memory; `format` is then `kv-ir`.  Results that are known only
at the end (counts, aggregates) can be combined by `merge`, when each archive was searched by its own process.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

from exhume.choices import LOOKED_AT, hint
from exhume.cli import ExitCode
from exhume.counts import counted
from exhume.errors import EntryNotFoundError, QueryError, Span
from exhume.formats.clp_s.layout import NodeType
from exhume.formats.clp_s.query import Options, kql
from exhume.formats.clp_s.query.kernel import clps_spans
from exhume.formats.clp_s.query.matches import MatchingRows
from exhume.formats.clp_s.query.search import Search, resolve_projection, unprojected
from exhume.formats.clp_s.read.columns import parse_json

if TYPE_CHECKING:
    from exhume.cli.run import Run
    from exhume.formats.clp_s.cli_options import ClpSSearchOptions
    from exhume.formats.clp_s.query.aggregate import Distinct, Value
    from exhume.formats.clp_s.read.columns import Column
    from exhume.formats.clp_s.read.tables import TableArchive
    from exhume.formats.clp_s.read.template import Roots
    from exhume.formats.clp_s.reader import ClpSArchive


def search(
    run: Run, archives: Collection[ClpSArchive], query: str, options: ClpSSearchOptions, format: str = "clp-s"
) -> ExitCode:
    """Run the query on each archive in turn; `ExitCode.NO` when nothing matches anywhere.

    Raises `QueryError`, and `click.UsageError` when the first time is after the last.
    """
    kql.parse(query)  # raises before any archive is read
    if options.tge is not None and options.tle is not None and options.tge > options.tle:
        import click

        raise click.UsageError("--tge is after --tle")
    how = Options(ignore_case=options.ignore_case, begin_ms=options.tge, end_ms=options.tle)
    wanted = options.aggregate()
    if wanted is not None:
        from exhume.formats.clp_s.query.aggregate import check_field

        _, name = wanted
        check_field(name)
    counting = options.explain_plan or options.count_by_time or options.count or wanted  # anything but matches
    # What a search prefetches: nothing in other threads if only one thread will work, and all columns of the first
    # table unless a projection of it is printed.
    jobs = 1 if options.explain_plan or options.count_by_time else options.jobs
    projection = () if options.ordered or counting else options.projection
    searches = _SearchRuns(run, archives, query, how, printing=not counting, projection=projection, jobs=jobs)
    if options.explain_plan:
        return _explain(run, searches, format)
    if options.count_by_time:
        return _count_by_time(run, query, searches, options.count_by_time, format)
    if options.count:
        return print_count(run, query, sum(one.count(jobs=jobs) for one in searches), format)
    if wanted is not None:
        return _aggregate(run, query, searches, *wanted, format)
    return _print_matches(run, query, searches, options, format)


def _print_matches(run: Run, query: str, searches: _SearchRuns, options: ClpSSearchOptions, format: str) -> ExitCode:
    """Print the matching records, as JSON lines or in a document."""
    found = False
    if run.machine:

        def matches() -> Iterator[dict[str, Any]]:
            """Yield the matches for the document, and note in `found` that there is one."""
            nonlocal found
            for name, chunk in _chunks(run, searches, options):
                for line in chunk.split(b"\n")[:-1]:
                    found = True
                    yield {"target": name, "record": parse_json(line)}

        run.items("search", {"format": format, "query": query}, "matches", matches())
        return ExitCode.DONE if found else ExitCode.NO
    for _, chunk in _chunks(run, searches, options):
        found = True
        run.out.write(chunk)
    return ExitCode.DONE if found else ExitCode.NO


def merge(
    run: Run, documents: Sequence[dict[str, Any]], query: str, options: ClpSSearchOptions, format: str = "clp-s"
) -> ExitCode:
    """Combine the documents of several archives, each of which was searched by itself, and print the result."""
    if options.explain_plan:
        plans = [plan for document in documents for plan in document["plans"]]
        run.document("search", {"format": format, "query": query, "plans": plans})
        return ExitCode.DONE
    if options.count_by_time:
        return merge_spans(run, documents, query, options.count_by_time, format)
    wanted = options.aggregate()
    assert wanted is not None  # `merges` says that there is something to combine
    name, field = wanted
    found = [_value(row) for document in documents for row in document["values"]]
    if name == "unique":
        from exhume.formats.clp_s.query.aggregate import Distinct

        distinct = Distinct()
        for value in found:
            distinct.add(value)
        return _print_distinct(run, query, field, distinct, format)
    numbers = [value for value in found if not isinstance(value, str)]
    best = [max(numbers) if name == "max" else min(numbers)] if numbers else []
    return _print_values(run, query, name, field, best, format)


def merge_spans(run: Run, documents: Sequence[dict[str, Any]], query: str, width: int, format: str) -> ExitCode:
    """Add up the counts of several archives in spans of `width` milliseconds."""
    spans: Counter[int] = Counter()
    for document in documents:
        for row in document["counts"]:
            spans[int(row["timestamp"])] += row["count"]
    return _print_spans(run, query, spans, width, format)


def _aggregate(run: Run, query: str, searches: _SearchRuns, name: str, field: str, format: str) -> ExitCode:
    """Print the result of --min, --max or --unique (`name`)."""
    from exhume.formats.clp_s.query.aggregate import extreme, unique

    if name == "unique":
        return _print_distinct(run, query, field, unique(searches, field), format)
    found = extreme(searches, field, largest=name == "max")
    return _print_values(run, query, name, field, [] if found is None else [found], format)


_WIDE = 1 << 40
"""Milliseconds of a span above which its width in nanoseconds may not fit the kernel's 64-bit integers."""

_TYPES = {int: "integer", float: "float", str: "string", bool: "boolean"}


def _print_values(run: Run, query: str, name: str, field: str, values: Sequence[Value], format: str) -> ExitCode:
    """Print the result of an aggregate such as `min`: one value per line, or a document."""
    if run.machine:
        rows = [{"type": _TYPES[type(value)], "value": value} for value in values]
        run.document("search", {"format": format, "query": query, "aggregate": name, "field": field, "values": rows})
    else:
        for value in values:
            run.print(repr(value))
    return ExitCode.DONE if values else ExitCode.NO


def _print_distinct(run: Run, query: str, field: str, distinct: Distinct, format: str) -> ExitCode:
    """Print distinct values, one per line."""
    if run.machine:
        return _print_values(run, query, "unique", field, distinct.values(), format)
    code = ExitCode.NO
    for chunk in distinct.lines():
        run.out.write(chunk)
        code = ExitCode.DONE
    return code


def _value(row: Mapping[str, Any]) -> Value:
    """The value of a row of a document, in which large integers and special floats may be strings."""
    value: Value = row["value"]
    match row["type"]:
        case "integer":
            return int(value)
        case "float":
            return float(value)
        case _:
            return value


def print_count(run: Run, query: str, total: int, format: str) -> ExitCode:
    """Print the result of --count."""
    if run.machine:
        run.document("search", {"format": format, "query": query, "count": total})
    else:
        run.print(str(total))
    return ExitCode.DONE if total else ExitCode.NO


def near(archive: TableArchive, column: str) -> str:
    """Return ` (did you mean 'level'?)` for a column that no record has; "" if it exists or none is similar."""
    tree = archive.schema_tree
    known = [tree.path_text(node) for node in range(min(len(tree), LOOKED_AT))]
    return "" if column in known else hint(column, known)


def _chunks(run: Run, searches: _SearchRuns, options: ClpSSearchOptions) -> Iterator[tuple[str, bytes]]:
    """Yield `(name of the archive, chunk of matching lines)`; requested columns that are missing become hints.

    Raises `EntryNotFoundError` if a single archive has none of the requested columns; of several, it is passed over.
    """
    # `roots`: what makes up a record; only KV-IR sets them, always with `ordered`.
    columns, roots = options.projection, options.roots
    for one in searches:
        nodes = None  # the schema nodes of the values to print; None: all
        if columns:
            nodes = resolve_projection(one.archive, columns)
            hints = list(_projection_hints(one.archive, columns, roots))
            # Each match would be `{}`, unless more records are to come.
            is_empty = not nodes and not one.archive.growing
            if is_empty and not run.several:
                raise EntryNotFoundError("; ".join(hints), span=Span(one.archive.name, 0, 0))
            for text in hints:
                searches.hint(one.archive, text)
            if is_empty:
                continue
        chunks = one.ordered_chunks(nodes, roots) if options.ordered else one.chunks(nodes, jobs=options.jobs)
        for chunk in chunks:
            yield one.archive.name, chunk


def _projection_hints(archive: TableArchive, columns: Sequence[str], roots: Roots) -> Iterator[str]:
    """Yield a string for each column without values, then one for each column with values that are left out.

    A projection prints values, but no objects, no arrays that are stored as columns, and nothing outside of the `roots`
    of a record (see `unprojected`).
    """
    has_values = {column: bool(resolve_projection(archive, [column])) for column in columns}
    left_out = {column: " and ".join(unprojected(archive, column, roots)) for column in columns}  # kinds of values
    for column in columns:
        if not has_values[column] and left_out[column]:
            yield f"column {column} has nothing but {left_out[column]}, which a projection leaves out"
        elif not has_values[column]:
            yield f"no record has a column {column}{near(archive, column)}"
    for column, kinds in left_out.items():
        if has_values[column] and kinds:
            yield f"a projection leaves out the {kinds} in column {column}"


class _SearchRuns:
    """The searches of a run, one per archive, made when it is reached.

    Standard error gets a hint for each column that no record has, and with `--verbose` if no table can match.  `how` is
    about matching; `printing`, `projection` and `jobs` determine what a search prefetches (see `search`).
    """

    def __init__(
        self,
        run: Run,
        archives: Collection[ClpSArchive],
        query: str,
        how: Options,
        *,
        printing: bool,
        projection: Sequence[str],
        jobs: int,
    ) -> None:
        """Note the options; each search is made when its archive is reached."""
        self.run, self.archives, self.query, self.how = run, archives, query, how
        self.printing, self.projection, self.jobs = printing, projection, jobs
        self._hinted: tuple[object, set[str]] = None, set()  # the stream whose parts are searched, and its hints

    def __iter__(self) -> Iterator[Search]:
        """Yield a search of each archive, and report columns that neither it nor the other parts of its stream have."""
        missing: dict[str, str] = {}  # by column that no part of a stream has so far: its hint
        stream: object = None
        for archive in self.archives:
            one = Search(
                archive, self.query, self.how, printing=self.printing, projection=self.projection, jobs=self.jobs
            )
            text = "no record has a column {} that this value could match{}"
            unknown = {column: text.format(column, near(archive, column)) for column in one.plan.unknown}
            if archive.known is None or archive.known is not stream:
                self._print(missing)
                missing, stream = unknown, archive.known
            else:
                missing = {column: text for column, text in missing.items() if column in unknown}
            if archive.known is None or archive.growing:
                for text in missing.values():
                    self.hint(archive, text)
                missing = {}
            if one.plan.reason and self.run.verbose:
                self.hint(archive, f"nothing to read: {one.plan.reason}")
            yield one
        self._print(missing)

    def _print(self, hints: Mapping[str, str]) -> None:
        """Print hints that hold for all parts of a stream."""
        for text in hints.values():
            self.run.hint(text)

    def hint(self, archive: TableArchive, text: str) -> None:
        """Print a hint about an archive; about parts of one stream only once."""
        stream, hinted = self._hinted
        if archive.known is None or archive.known is not stream:
            hinted = set()
            self._hinted = archive.known, hinted
        if text not in hinted:
            hinted.add(text)
            self.run.hint(text)


def _explain(run: Run, searches: _SearchRuns, format: str) -> ExitCode:
    """Print how each archive would be searched, without searching it."""
    plans = [{"target": one.archive.name, **one.plan.explain()} for one in searches]
    if run.machine:
        run.document("search", {"format": format, "query": searches.query, "plans": plans})
        return ExitCode.DONE
    for one, archive in zip(plans, searches.archives, strict=True):
        for line in plan_lines(one, archive):
            run.print(line)
    return ExitCode.DONE


def plan_lines(explained: dict[str, Any], archive: ClpSArchive) -> Iterator[str]:
    """Yield the lines of an explained plan (`Plan.explain`, with the name of the archive) for people."""
    tables = explained["tables"]
    records = sum(table["records"] for table in tables)
    read = f"{len(tables)} of {counted(explained['num_tables'], 'tables')} to read"
    yield f"{explained['target']}: {read}, {counted(records, 'records')}"
    for reason, count in explained["dropped"].items():
        yield f"  {counted(count, 'tables')} dropped: {reason}"
    if explained["dictionaries"]:
        yield f"  dictionaries searched: {', '.join(explained['dictionaries'])}"
    for column in explained["unknown_columns"]:
        yield f"  no column: {column}"
    for table in tables:
        stored = archive.tables[table["table"]].size
        sizes = f"{counted(table['records'], 'records')}, {counted(stored, 'bytes')}"
        yield f"  table {table['table']}: schema {table['schema']}, {sizes}"
        for check in table["checks"] or ["every record matches"]:
            yield f"    {check}"


def _count_by_time(run: Run, query: str, searches: _SearchRuns, width: int, format: str) -> ExitCode:
    """Count matches in spans of `width` milliseconds by the timestamp column (records without one count as time 0)."""
    spans: Counter[int] = Counter()
    for one in searches:
        for hits in one.hits(_time_nodes(one) or None):
            spans.update(_spans(one, hits, width))
    return _print_spans(run, query, spans, width, format)


def _spans(one: Search, hits: MatchingRows, width: int) -> Mapping[int, int]:
    """The number of matching rows in each span of `width` milliseconds, by the start of the span."""
    column = _time_column(one, hits)
    # The kernel counts columns of 64-bit integers.
    if column is None or column.type == NodeType.DICTIONARY_FLOAT or column.values.format != "q" or width >= _WIDE:
        return Counter(value // width * width for value in times(one, hits))
    pairs = array("q", clps_spans(column.values, hits.mask, width * _scale(column)))
    return {start * width: count for start, count in zip(pairs[::2], pairs[1::2], strict=True)}


def _print_spans(run: Run, query: str, spans: Counter[int], width: int, format: str) -> ExitCode:
    """Print how many events match in each time span of `width` ms."""
    rows = [{"timestamp": start, "count": spans[start]} for start in sorted(spans)]
    if run.machine:
        run.document("search", {"format": format, "query": query, "interval_ms": width, "counts": rows})
    else:
        for row in rows:
            run.print(f"{row['timestamp']}\t{row['count']}")
    return ExitCode.DONE if rows else ExitCode.NO


def times(one: Search, hits: MatchingRows) -> Iterator[int]:
    """The time of each matching row in milliseconds, rounded down.

    Raises `QueryError` when the archive has no timestamp column, or a time is infinite or no number (NaN).
    """
    column = _time_column(one, hits)
    rows = range(hits.data.num_messages) if hits.rows is None else hits.rows
    if column is None:
        yield from repeat(0, len(rows))
        return
    values: Iterable[float]
    if column.type == NodeType.DICTIONARY_FLOAT:
        values = map(float, column.strings(rows))
    else:
        values = map(column.values.__getitem__, rows)
    scale = _scale(column)
    for value in values:
        if not math.isfinite(value):
            raise QueryError(f"a time is not a finite number: {value}", format="clp-s")
        yield int(value // scale)


def _scale(column: Column) -> int:
    """How many units of a timestamp column are a millisecond: from 0.5.0 on, its values are nanoseconds."""
    return 1_000_000 if column.type == NodeType.TIMESTAMP else 1


def _time_nodes(one: Search) -> frozenset[int]:
    """The schema tree nodes of the timestamp key; none where the archive has no such key."""
    ranges = one.archive.timestamp_ranges
    return frozenset(ranges[0].column_ids) if ranges else frozenset()


def _time_column(one: Search, hits: MatchingRows) -> Column | None:
    """The timestamp column of matching rows, None if their table has none.

    Raises `QueryError` when the whole archive has none.
    """
    nodes = _time_nodes(one)
    if not nodes:
        if one.archive.known_ranges:
            return None
        raise QueryError("the archive has no timestamp column to count by", format="clp-s")
    columns = [column for node in nodes for column in hits.data.columns_of(node)]
    # A table may have the timestamp in columns of several types: the first is used.
    return min(columns, key=lambda column: column.spec.place, default=None)


__all__ = ["merge", "merge_spans", "plan_lines", "print_count", "search", "times"]
