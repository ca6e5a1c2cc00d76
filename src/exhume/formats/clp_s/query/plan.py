"""What a search has to read: a condition resolved against an archive's tree, schemas, ranges and dictionaries.

`make_plan` uses metadata only: the range index (`$` columns), the timestamp ranges, the schema tree and the schemas.
`Plan.look_up` then uses the dictionaries.  Both drop tables whose records cannot match and record the reason; the
tables themselves are not read here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from typing import Any as AnyValue

from exhume.errors import QueryError
from exhume.formats.clp_s.layout import MAX_NODE_ID, NodeType, Schema, TableEntry, TimestampRange, is_marker
from exhume.formats.clp_s.query.condition import (
    EXISTS,
    MISSING,
    NEVER,
    All,
    Condition,
    Test,
    compile_condition,
    tests_of,
)
from exhume.formats.clp_s.query.dialect import Dialect, Version, dialect_of
from exhume.formats.clp_s.query.operand import (
    ALL,
    ARRAYS,
    STRINGS,
    TEXTS,
    instant_operand,
    type_names,
)
from exhume.formats.clp_s.query.resolve import Resolver
from exhume.formats.clp_s.query.tree import (
    EQUAL,
    GREATER_EQUAL,
    LESS_EQUAL,
    Column,
    EscapeError,
    Expression,
    Key,
    parse_column,
)
from exhume.formats.clp_s.read.ranges import RangeFilters, outside

if TYPE_CHECKING:
    from typing import Protocol

    from exhume.formats.clp_s.layout import RangeEntry, SchemaTree, TableMetadata, TimestampRange
    from exhume.formats.clp_s.query.arrays import ArrayTest
    from exhume.formats.clp_s.query.lookup import Dictionaries
    from exhume.formats.clp_s.query.texts import TextQuery

    class Searched(Protocol):
        """What planning needs of an archive (`reader.ClpSArchive` has it)."""

        @property
        def schema_tree(self) -> SchemaTree: ...
        @property
        def schemas(self) -> Mapping[int, Schema]: ...
        @property
        def table_metadata(self) -> TableMetadata: ...
        @property
        def timestamp_ranges(self) -> Sequence[TimestampRange]: ...
        @property
        def range_index(self) -> Sequence[RangeEntry]: ...
        @property
        def variables(self) -> AnyValue: ...
        @property
        def log_types(self) -> AnyValue: ...


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a query: `ignore_case` for values; only records between `begin_ms` and `end_ms` (inclusive, ms)."""

    ignore_case: bool = False
    begin_ms: int | None = None
    end_ms: int | None = None


# --- what has to be evaluated on a table ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Check:
    """A filter on the columns of `node` (None: of all columns, by type) of one table.

    `types` are the literal types at stake; `rest`: keys that are left for the elements of an unstructured array.
    """

    test: Test
    node: int | None
    types: int
    rest: tuple[Key, ...] = ()

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for checks with equal results: the test by its identity, since hashing it takes longer than a check."""
        return (self.node, id(self.test), self.types, self.rest)


@dataclass(frozen=True, slots=True)
class Every:
    """All of the parts."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """One of the parts."""

    parts: tuple[Part, ...]


Part = bool | Check | Every | Some


def simplify(kind: type[Every | Some], parts: Iterator[Part]) -> Part:
    """Parts under one node, constants folded away."""
    neutral = kind is Every
    kept: list[Part] = []
    for part in parts:
        if isinstance(part, bool):
            if part is not neutral:
                return part
        elif isinstance(part, kind):
            kept += part.parts
        else:
            kept.append(part)
    if not kept:
        return neutral
    return kept[0] if len(kept) == 1 else kind(tuple(kept))


def checks_of(part: Part) -> Iterator[Check]:
    """All checks below a part."""
    stack = [part]
    while stack:
        part = stack.pop()
        if isinstance(part, Check):
            yield part
        elif not isinstance(part, bool):
            stack += part.parts


def fold(part: Part, decide: Callable[[Check], Part]) -> Part:
    """The same part with each check replaced by what `decide` makes of it."""
    if isinstance(part, bool):
        return part
    if isinstance(part, Check):
        return decide(part)
    folded = []
    for inner in part.parts:
        folded.append(fold(inner, decide))  # noqa: PERF401 - a frame less per level
    return simplify(type(part), iter(folded))


def _text_of(test: Test) -> bytes | None:
    """The string that a test compares with, if it does."""
    return None if test.operand is None else test.operand.text


@dataclass(frozen=True, slots=True)
class TablePlan:
    """A table to read: `index` in the archive's table list, and what its records have to fulfil."""

    index: int
    entry: TableEntry
    part: Part


class Plan:
    """Tables that may hold matches, in their order; `reason` says what left none, `dropped` counts tables by reason."""

    def __init__(self, dialect: Dialect, options: Options, condition: Condition) -> None:
        self.dialect = dialect
        self.options = options
        self.condition = condition
        self.tables: list[TablePlan] = []
        self.num_tables = 0
        """Tables of the archive."""
        self.reason = ""
        self.dropped: dict[str, int] = {}
        self.unknown: list[str] = []
        """Columns of the query that the archive does not have."""
        self.dictionaries: list[str] = []
        """Dictionaries that were searched."""
        self.strings: dict[bytes, frozenset[int]] = {}
        """Ids of the variable dictionary by pattern."""
        self.tables_of_ids: dict[bytes, bytes] = {}
        """The same as one byte per id of the dictionary: 1 where it matches."""
        self.texts: dict[bytes, TextQuery | None] = {}
        """Texts to look for by pattern, None where nothing can match."""
        self.array_tests: dict[tuple[object, ...], ArrayTest] = {}
        """Tests of array texts by the key of their check, with what they have seen."""

    def drop(self, tables: Collection[int], reason: str) -> None:
        """Takes tables out of the plan."""
        if tables:
            self.tables = [table for table in self.tables if table.index not in tables]
            self.dropped[reason] = self.dropped.get(reason, 0) + len(tables)
            if not self.tables:
                self.reason = reason

    def look_up(self, archive: Searched) -> None:
        """Finds the strings of the query in the dictionaries and drops tables that cannot match without them."""
        if not any(_text_of(test) is not None for test in tests_of(self.condition)):
            return
        from exhume.formats.clp_s.query.lookup import Dictionaries

        wanted = 0
        for table in self.tables:
            for check in checks_of(table.part):
                if _text_of(check.test) is not None:
                    wanted |= check.types & (STRINGS | TEXTS)
        if not wanted:
            return
        self.dictionaries = ["variables", "log types"] if wanted & TEXTS else ["variables"]
        dictionaries = Dictionaries(archive, self.dialect, ignore_case=self.options.ignore_case)
        gone: set[int] = set()
        for position, table in enumerate(self.tables):
            part = fold(table.part, lambda check: self._looked_up(check, dictionaries))
            self.tables[position] = replace(table, part=part)
            if part is False:
                gone.add(table.index)
        self.drop(gone, "no dictionary holds the strings")

    def _looked_up(self, check: Check, dictionaries: Dictionaries) -> Part:
        """A check without the types whose dictionary lacks its string; a constant when no type is left."""
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
            return check.test.inverted
        return check if left == check.types else replace(check, types=left)

    def explain(self) -> dict[str, AnyValue]:
        """The plan as plain data (`exhume search --explain-plan`)."""
        return {
            "tables": [
                {
                    "table": table.index,
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


def describe_check(check: Check) -> str:
    """A check in words."""
    where = "any column" if check.node is None else f"node {check.node}"
    return f"{check.test} ({where}: {', '.join(type_names(check.types))})"


# --- planning ---------------------------------------------------------------------------------------------------------


def make_plan(
    archive: Searched,
    version: Version,
    expression: Expression,
    options: Options,
    *,
    query: str = "",
    promising: Callable[[], None] | None = None,
) -> Plan:
    """The tables that may hold matches, by the archive's metadata.

    `promising` is called as soon as it is known that the archive has the columns of the query.

    Raises `QueryError` for time bounds on an archive without a timestamp column.
    """
    dialect = dialect_of(version)
    bounds = time_bounds(archive, dialect, options)
    condition = compile_condition(expression, dialect, query=query, bounds=bounds)
    plan = Plan(dialect, options, condition)

    def nothing(reason: str) -> Plan:
        plan.num_tables = len(archive.table_metadata.tables)
        plan.reason = reason
        plan.dropped = {reason: plan.num_tables} if plan.num_tables else {}
        plan.condition = NEVER
        return plan

    if condition is NEVER:
        return nothing("the query can never be true")
    condition = RangeFilters(archive.range_index, ignore_case=options.ignore_case).run(condition)
    if condition is NEVER:
        return nothing("no ingestion unit matches")
    ranges = [(r, keys) for r in archive.timestamp_ranges if (keys := range_key(r)) is not None]
    if outside(condition, ranges, dialect) is False:
        return nothing("outside the time range of the archive")
    resolver = Resolver(archive.schema_tree)
    condition = resolver.run(condition)
    plan.unknown = resolver.unknown
    plan.condition = condition
    if condition is NEVER:
        return nothing("no record has such columns")
    if outside(condition, ranges, dialect) is False:
        return nothing("outside the time range of the archive")
    if promising is not None:
        promising()
    tables = archive.table_metadata.tables
    plan.num_tables = len(tables)
    shapes = _Shapes(condition, resolver, archive.schemas, dialect)
    gone = 0
    for entry in tables:
        part = shapes.part(entry.schema_id) if entry.schema_id in archive.schemas else False
        if part is False:
            gone += 1
        else:
            plan.tables.append(TablePlan(entry.index, entry, part))
    if gone:
        plan.dropped["the shape of the records cannot match"] = gone
    if not plan.tables:
        plan.reason = "the shape of the records cannot match"
    return plan


def time_bounds(archive: Searched, dialect: Dialect, options: Options) -> list[Test]:
    """The conditions on the archive's timestamp column that the options ask for.

    Raises `QueryError` when the archive has no timestamp column.
    """
    if options.begin_ms is None and options.end_ms is None:
        return []
    keys = range_key(archive.timestamp_ranges[0]) if archive.timestamp_ranges else None
    if keys is None:
        raise QueryError("time bounds were given, but the archive has no timestamp column", format="clp-s")
    scale = 1 if dialect.legacy_instants else 1_000_000
    return [
        Test(keys, op, ALL, instant_operand(bound * scale, op, dialect))
        for op, bound in ((GREATER_EQUAL, options.begin_ms), (LESS_EQUAL, options.end_ms))
        if bound is not None
    ]


def range_key(found: TimestampRange) -> Column | None:
    """The column of a timestamp range; None when its key is not a column path."""
    try:
        return parse_column(found.key.decode("utf-8", "surrogateescape"))
    except EscapeError:
        return None


# --- record shapes ----------------------------------------------------------------------------------------------------


class _Shapes:
    """What a resolved condition requires of the records of each schema.

    Hundreds of schemas differ in columns that the query does not name: those that agree on what it names share a part.
    """

    def __init__(
        self, condition: Condition, resolver: Resolver, schemas: Mapping[int, Schema], dialect: Dialect
    ) -> None:
        self.condition = condition
        self.resolver = resolver
        self.schemas = schemas
        self.last = dialect.last_column
        # By the identity of the test, which the condition keeps alive: to hash one takes longer than to answer it.
        self._named: dict[int, tuple[frozenset[int], tuple[Key, ...]]] = {}
        self._everything = False
        for test in tests_of(condition):
            if test.column.everything:
                self._everything = True
            else:
                self._named[id(test)] = resolver.nodes(test)
        self._parts: dict[tuple[int | None, ...], Part] = {}

    def part(self, schema_id: int) -> Part:
        """What the records of a schema have to fulfil."""
        order = self._schema(schema_id)
        types = self._types(order) if self._everything else 0
        searched = [self._column(nodes, order) for nodes, _ in self._named.values()]
        key = (types, *searched)
        found = self._parts.get(key)
        if found is None:
            found = self._part(self.condition, types, dict(zip(self._named, searched, strict=True)))
            self._parts[key] = found
        return found

    def _part(self, condition: Condition, types: int, searched: Mapping[int, int | None]) -> Part:
        """`types`: the literal types of the schema's columns; `searched`: the node for each test of a named column."""
        if isinstance(condition, Test):
            if condition.column.everything:
                return self._any_column(condition, types)
            return self._one_column(condition, searched[id(condition)])
        parts = []
        for child in condition.children:
            parts.append(self._part(child, types, searched))  # noqa: PERF401 - a frame less per level
        return simplify(Every if isinstance(condition, All) else Some, iter(parts))

    def _schema(self, schema_id: int) -> tuple[int, ...]:
        """The nodes of a schema in its order."""
        nodes, size = tuple(self.schemas[schema_id].entries), len(self.resolver.tree)
        if nodes and (min(nodes) < 0 or max(nodes) >= min(size, MAX_NODE_ID + 1)):  # markers, or no nodes
            nodes = tuple(n for n in nodes if not is_marker(n) and 0 <= n < size)
        return nodes

    def _types(self, order: Collection[int]) -> int:
        """The literal types of these columns."""
        tree = self.resolver.tree
        metadata = tree.roots.get((b"", NodeType.METADATA))
        types = 0
        for node in order:
            if metadata is None or tree.parents[node] != metadata:
                types |= self.resolver.types[node]
        return types

    def _column(self, nodes: frozenset[int], order: Sequence[int]) -> int | None:
        """The one node of a schema that is searched for a column."""
        if nodes.isdisjoint(order):
            return None
        return next(node for node in (reversed(order) if self.last else order) if node in nodes)

    @staticmethod
    def _any_column(test: Test, types: int) -> Part:
        if test.op in (EXISTS, MISSING):
            return True
        types &= test.types
        return Check(test, None, types) if types else test.inverted

    def _one_column(self, test: Test, node: int | None) -> Part:
        rest = self._named[id(test)][1]
        if test.op == MISSING:
            return node is None
        if node is None:
            return False
        types = self.resolver.types[node]
        if test.op == EXISTS:
            return Check(test, node, types, rest) if rest and types == ARRAYS else True
        return Check(test, node, types, rest if types == ARRAYS else ())
