"""The data that a search has to read: a condition resolved against an archive's tree, schemas, ranges and dictionaries.

An archive has a table for each schema (set of keys that records have); a table is read only if its records can match.

`make_plan` uses metadata only: the range index (`$` columns), the timestamp ranges, the schema tree and the schemas.
`Plan.look_up` then uses the dictionaries.  Both drop tables whose records cannot match and record the reason; the
tables themselves are not read here.  `dialect` is what KQL means in the archive's version.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from exhume.errors import QueryError
from exhume.formats.clp_s.layout import Schema, TableEntry, TimestampRange
from exhume.formats.clp_s.query import Options
from exhume.formats.clp_s.query import kernel as searchkernel
from exhume.formats.clp_s.query.condition import MISSING, NEVER, ColumnTest, Condition, compile_condition, tests_of
from exhume.formats.clp_s.query.operand import ALL, STRINGS, TEXTS, instant_operand
from exhume.formats.clp_s.query.requirement import (
    Check,
    Requirement,
    SchemaRequirements,
    checks_of,
    describe_check,
    fold,
)
from exhume.formats.clp_s.query.resolve import RangeFilters, Resolver, outside
from exhume.formats.clp_s.query.tree import (
    EQUAL,
    GREATER_EQUAL,
    LESS_EQUAL,
    Column,
    Dialect,
    EscapeError,
    Expression,
    Version,
    dialect_of,
    parse_column,
)
from exhume.formats.clp_s.query.wildcard import Wildcard
from exhume.tuples import NamedTuple

if TYPE_CHECKING:
    from typing import Protocol

    from exhume.formats.clp_s.layout import RangeEntry, SchemaTree, TableMetadata, TimestampRange
    from exhume.formats.clp_s.query.requirement import ArrayTest
    from exhume.formats.clp_s.query.texts import TextQuery, TextSearch

    class Searched(Protocol):
        """The attributes of an archive that planning uses (`reader.ClpSArchive` has them).

        `known_tree` and `known_ranges` are those of all records that the archive is a part of, if it is a part.
        """

        @property
        def schema_tree(self) -> SchemaTree: ...
        @property
        def known_tree(self) -> SchemaTree: ...
        @property
        def schemas(self) -> Mapping[int, Schema]: ...
        @property
        def table_metadata(self) -> TableMetadata: ...
        @property
        def timestamp_ranges(self) -> Sequence[TimestampRange]: ...
        @property
        def known_ranges(self) -> Sequence[TimestampRange]: ...
        @property
        def range_index(self) -> Sequence[RangeEntry]: ...
        @property
        def variables(self) -> Any: ...
        @property
        def log_types(self) -> Any: ...


Try = tuple[bytes | None, list[tuple[int, bytes | None]], Sequence[int] | None]
"""One way to match encoded text: a byte per log type, 1 if it may match (None: all may); constraints on the variables,
each `(word, None)` for one word or `(base, table)` for words with a 1 in `table[word - base]`; and the codes of the
pattern that the text has to match (None: no further test)."""


def _text_of(test: ColumnTest) -> bytes | None:
    """Return the string that a test compares with; None if it does not compare with one."""
    return None if test.operand is None else test.operand.text


class TablePlan(NamedTuple):
    """A table to read, and what its records have to fulfil."""

    entry: TableEntry
    part: Requirement


class Plan:
    """The tables that may have matches, in stored order.

    `reason` states why none is left ("" if some are), `dropped` counts tables by the reason why they cannot match.
    `dialect`, `options` and `condition` are those of the query: what KQL means in the archive's version, options such
    as time bounds, and the compiled condition as far as it is resolved.
    """

    def __init__(self, dialect: Dialect, options: Options, condition: Condition) -> None:
        """Start an empty plan, which `make_plan` and `look_up` fill."""
        self.dialect = dialect
        self.options = options
        self.condition = condition
        self.tables: list[TablePlan] = []
        self.num_tables = 0
        """Tables of the archive."""
        self.reason: str = ""
        self.dropped: dict[str, int] = {}
        self.unknown: list[str] = []
        """Columns of the query that the archive does not have."""
        self.dictionaries: list[str] = []
        """Dictionaries that were searched."""
        self.strings: dict[bytes, frozenset[int]] = {}
        """By pattern: ids of the entries of the variable dictionary that match."""
        self.tables_of_ids: dict[bytes, bytes] = {}
        """By pattern: the ids of `strings` as one byte per id of the dictionary, 1 if it matches."""
        self.texts: dict[bytes, TextQuery | None] = {}
        """By pattern: what to search for in encoded strings; None if nothing can match."""
        self.tries: dict[bytes, list[Try]] = {}
        """By pattern: the queries of `texts` in the form in which rows are compared with them."""
        self.array_tests: dict[tuple[object, ...], ArrayTest] = {}
        """Tests of array strings by the key of their check, with their cached results."""

    def drop(self, tables: Collection[int], reason: str) -> None:
        """Take tables (by number) out of the plan, for a reason that is shown to the user."""
        if tables:
            self.tables = [table for table in self.tables if table.entry.number not in tables]
            self.dropped[reason] = self.dropped.get(reason, 0) + len(tables)
            if not self.tables:
                self.reason = reason

    @property
    def has_strings(self) -> bool:
        """Whether the query names strings, which are looked up in the dictionaries."""
        return any(_text_of(test) is not None for test in tests_of(self.condition))

    def look_up(self, archive: Searched) -> None:
        """Find the strings of the query in the dictionaries and drop tables that cannot match without them."""
        if not self.has_strings:
            return
        wanted = 0  # the literal types whose strings are looked up
        # By identity; few, though there may be many tables, as schemas with the same columns share a requirement.
        parts = {id(table.part): table.part for table in self.tables}
        for part in parts.values():
            for check in checks_of(part):
                if _text_of(check.test) is not None:
                    wanted |= check.types & (STRINGS | TEXTS)
        if not wanted:
            return
        self.dictionaries = ["variables", "log types"] if wanted & TEXTS else ["variables"]
        dictionaries = Dictionaries(archive, self.dialect, ignore_case=self.options.ignore_case)
        gone: set[int] = set()
        # `fold` replaces each check of a requirement and simplifies the result.
        found = {key: fold(part, lambda check: self._looked_up(check, dictionaries)) for key, part in parts.items()}
        for position, table in enumerate(self.tables):
            part = found[id(table.part)]
            if part is not table.part:
                self.tables[position] = table._replace(part=part)
            if part is False:
                gone.add(table.entry.number)
        self.drop(gone, "no dictionary holds the strings")

    def _looked_up(self, check: Check, dictionaries: Dictionaries) -> Requirement:
        """Return a check without the types whose dictionary lacks its string; a constant if no type is left.

        Fills `strings` and `texts` on the way, which the search uses.
        """
        text = _text_of(check.test)
        if text is None or check.test.op != EQUAL:
            return check
        found, left = False, check.types
        if check.types & STRINGS:
            if text not in self.strings:
                self.strings[text] = dictionaries.strings(text)
            if self.strings[text]:
                found = True
            else:
                left &= ~STRINGS
        if check.types & TEXTS:
            if text not in self.texts:
                self.texts[text] = dictionaries.texts(text)
            if self.texts[text] is not None:
                found = True
            else:
                left &= ~TEXTS
        if not found and not left:
            return check.test.inverted  # no value equals the string, so all differ from it
        return check if left == check.types else check._replace(types=left)

    def explain(self) -> dict[str, Any]:
        """The plan as plain data (`exhume search --explain-plan`)."""
        return {
            "tables": [
                {
                    "table": table.entry.number,
                    "schema": table.entry.schema_id,
                    "records": table.entry.num_messages,
                    "checks": sorted({describe_check(check) for check in checks_of(table.part)}),
                }
                for table in self.tables
            ],
            "num_tables": self.num_tables,
            "dropped": self.dropped,
            "dictionaries": self.dictionaries,
            "unknown_columns": self.unknown,
            "reason": self.reason,
        }


# --- planning ---------------------------------------------------------------------------------------------------------


def make_plan(
    archive: Searched,
    version: Version,
    expression: Expression,
    options: Options,
    *,
    query: str = "",
) -> Plan:
    """Return the tables that may have matches, by the archive's metadata.

    `version`: that of the archive's format; `query`: the text of the expression, for errors.

    Raises `QueryError` for time bounds on an archive without a timestamp column.
    """
    dialect = dialect_of(version)
    bounds = time_bounds(archive, dialect, options)
    condition = compile_condition(expression, dialect, query=query, bounds=bounds)
    plan = Plan(dialect, options, condition)

    def nothing(reason: str) -> Plan:
        """Return the plan without tables, all dropped for this reason."""
        plan.num_tables = len(archive.table_metadata.tables)
        plan.reason = reason
        plan.dropped = {reason: plan.num_tables} if plan.num_tables else {}
        plan.condition = NEVER
        return plan

    if condition is NEVER:
        return nothing("the query can never be true")
    # Ingestion units, then time ranges: whole archives are excluded without the schema tree.
    condition = RangeFilters(archive.range_index, ignore_case=options.ignore_case).run(condition)
    if condition is NEVER:
        return nothing("no ingestion unit matches")
    ranges = [(times, column) for times in archive.timestamp_ranges if (column := range_key(times)) is not None]
    # `outside` returns the result that the condition has for all records; None if the ranges do not determine it.
    if outside(condition, ranges, dialect) is False:
        return nothing("outside the time range of the archive")
    # Columns: paths become nodes of the schema tree.
    resolver = Resolver(archive.schema_tree)
    absent = [test for test in tests_of(condition) if test.op == MISSING]
    if any(test.column.open or not resolver.nodes(test)[0] for test in absent):
        # In a part of a stream: a key that only other parts have is missing in each of these records.
        resolver = Resolver(archive.known_tree)
    condition = resolver.run(condition)
    plan.unknown = resolver.unknown
    plan.condition = condition
    if condition is NEVER:
        return nothing("no record has such columns")
    # Again, as paths with wildcards have become those of single columns, which may have a range.
    if outside(condition, ranges, dialect) is False:
        return nothing("outside the time range of the archive")
    # Tables: a schema without the columns of the query cannot match.
    tables = archive.table_metadata.tables
    plan.num_tables = len(tables)
    shapes = SchemaRequirements(condition, resolver, archive.schemas, dialect)
    gone = 0
    for entry in tables:
        part = shapes.part(entry.schema_id) if entry.schema_id in archive.schemas else False
        if part is False:
            gone += 1
        else:
            plan.tables.append(TablePlan(entry, part))
    if gone:
        plan.dropped["the shape of the records cannot match"] = gone
    if not plan.tables:
        plan.reason = "the shape of the records cannot match"
    return plan


def time_bounds(archive: Searched, dialect: Dialect, options: Options) -> list[ColumnTest]:
    """The conditions on the archive's timestamp column that the options request.

    Raises `QueryError` when the archive has no timestamp column.
    """
    if options.begin_ms is None and options.end_ms is None:
        return []
    ranges = archive.known_ranges
    keys = range_key(ranges[0]) if ranges else None
    if keys is None:
        raise QueryError(
            "time bounds were given, but the archive has no timestamp column: it was made without its key",
            format="clp-s",
        )
    scale = 1 if dialect.legacy_instants else 1_000_000  # from the milliseconds of the options to an instant
    return [
        ColumnTest(keys, op, ALL, instant_operand(bound * scale, op, dialect))
        for op, bound in ((GREATER_EQUAL, options.begin_ms), (LESS_EQUAL, options.end_ms))
        if bound is not None
    ]


def range_key(found: TimestampRange) -> Column | None:
    """The column of a timestamp range; None when its key is not a column path."""
    try:
        return parse_column(found.key.decode("utf-8", "surrogateescape"))
    except EscapeError:
        return None


class Dictionaries:
    """Finds entries of the dictionaries by pattern: strings in the variable dictionary, encoded strings in both.

    Each dictionary is read when it is first needed.
    """

    def __init__(self, archive: Any, dialect: Dialect, *, ignore_case: bool) -> None:
        self.archive = archive
        self.dialect = dialect
        self.ignore_case = ignore_case
        self._texts: TextSearch | None = None

    def strings(self, pattern: bytes) -> frozenset[int]:
        """Ids of the dictionary entries that a pattern matches."""
        return frozenset(self._variables(Wildcard(pattern, self.ignore_case)))

    def texts(self, pattern: bytes) -> TextQuery | None:
        """Return what to search for in text columns; None when nothing can match."""
        if self._texts is None:
            from exhume.formats.clp_s.query.texts import TextSearch
            from exhume.formats.clp_s.write.texts import Dialect as TextDialect

            self._texts = TextSearch(
                TextDialect.CORE if self.dialect.core_text else TextDialect.CLASSIC,
                self._log_types,
                self._variables,
                len(self.archive.log_types),
                ignore_case=self.ignore_case,
                raw_lookup=self.dialect.raw_dictionary_lookup,
                verify_question_marks=self.dialect.verifies_question_marks,
            )
        return self._texts.query(pattern)

    def _variables(self, pattern: Wildcard) -> Sequence[int]:
        """Return the ids of the entries of the variable dictionary that match."""
        self.archive.share_variables()  # helps another thread that decompresses them already
        return searchkernel.find(self.archive.variables, pattern)

    def _log_types(self, pattern: Wildcard) -> Sequence[int]:
        """Return the ids of the log types that match."""
        # Before 0.4.0 the native search compares log types without their escapes.
        return searchkernel.find(self.archive.log_types, pattern, unescape=not self.dialect.core_text)
