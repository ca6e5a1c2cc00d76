"""Rows that fulfill a plan, as masks over the rows of a table, or of many small tables; cheap checks come first.

The values of a column are gathered from many small tables and compared at once (`RunSearch`): there may be hundreds of
thousands of them with one record each.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate, compress
from typing import TYPE_CHECKING, Any, Final

from exhume.errors import ExhumeError
from exhume.formats.clp_s.layout import NodeType
from exhume.formats.clp_s.layout_packed import I64_MAX, I64_MIN, ClassicVariable
from exhume.formats.clp_s.query.kernel import clps_compare_float, clps_compare_int, clps_lookup, clps_match_texts
from exhume.formats.clp_s.query.operand import (
    ARRAYS,
    BOOLEANS,
    FLOATS,
    INTEGERS,
    STRINGS,
    TEXTS,
    TIMES,
    Operand,
    compare,
)
from exhume.formats.clp_s.query.plan import Plan, Try
from exhume.formats.clp_s.query.requirement import ArrayTest, Check, EveryPart, Requirement
from exhume.formats.clp_s.query.resolve import LITERAL_TYPES
from exhume.formats.clp_s.query.tree import EQUAL
from exhume.formats.clp_s.read import blocks, windows
from exhume.formats.clp_s.read.blocks import Printed, SharedValue, printed, text_rows
from exhume.formats.clp_s.read.together import GatheredColumn, KernelTables, RunSource

if TYPE_CHECKING:
    from exhume.formats.clp_s.query.plan import TablePlan
    from exhume.formats.clp_s.query.texts import TextQuery
    from exhume.formats.clp_s.read.columns import Column, PrintContext
    from exhume.formats.clp_s.read.tables import TableArchive, TableData

_TRUTH = bytes([0]) + b"\1" * 255  # translates booleans as they are stored to 0 and 1
_LOOKUP_WIDTH = 64  # bits of the ids that `clps_lookup` takes
_ARRAY_BATCH = 8192  # rows whose arrays are decoded at a time


class Evaluator:
    """Evaluates conditions on the rows `[start, stop)` of one table.

    A mask has a byte for each row, 0 or 1, and is kept as one little-endian integer: plain Python combines masks with
    a single operation.  The mask of all rows is `ones`.
    """

    start: int
    stop: int

    def __init__(self, data: TableData, plan: Plan, start: int = 0, stop: int | None = None) -> None:
        """Take rows `[start, stop)`, by default all."""
        self.data = data
        self.plan = plan
        self.start, self.stop = start, data.num_messages if stop is None else stop
        self.rows: int = self.stop - start
        self.ones: int = int.from_bytes(b"\1" * self.rows, "little")
        self._masks: dict[tuple[object, ...], int] = {}

    def run(self, part: Requirement) -> bytes:
        """The mask of the rows that fulfil `part`."""
        return self._part(part, self.ones).to_bytes(self.rows, "little")

    def _of(self, values: memoryview[Any]) -> memoryview[Any]:
        """The values of these rows as bytes."""
        return values[self.start : self.stop].cast("B")

    def _part(self, part: Requirement, wanted: int) -> int:
        """The mask of the rows that fulfill `part`; only rows in `wanted` have to be right."""
        if isinstance(part, bool):
            return self.ones if part else 0
        if isinstance(part, Check):
            return self._check(part, wanted)
        if isinstance(part, EveryPart):
            for inner in sorted(part.parts, key=_cost):
                wanted &= self._part(inner, wanted)
                if not wanted:
                    break
            return wanted
        found = 0
        for inner in sorted(part.parts, key=_cost):
            found |= self._part(inner, wanted & ~found) & wanted
            if found == wanted:
                break
        return found

    def _check(self, check: Check, wanted: int) -> int:
        """Return the mask of the rows that fulfill one check; only rows in `wanted` have to be right.

        A mask that is right for all rows is kept in `_masks`.
        """
        key = check.key
        found = self._masks.get(key)
        if found is None:
            partial = bool(check.types & (TEXTS | ARRAYS)) and wanted != self.ones
            found = 0
            rows = wanted
            for column, kind in self._columns(check):
                found |= self.of_column(check, column, kind, rows)
                if found & wanted == wanted:
                    break
                rows &= ~found
            if check.test.inverted:
                found ^= self.ones
            if not partial:
                self._masks[key] = found
        return found

    def _columns(self, check: Check) -> Iterator[tuple[Column, int]]:
        """The columns that a check examines, the cheap ones first."""
        if check.node is not None:
            for column in self.data.columns_of(check.node):
                yield column, check.types
            return
        metadata = self.data.tree.roots.get((b"", NodeType.METADATA))
        parents = self.data.tree.parents
        later = []
        for spec in self.data.layout.columns:
            kind = LITERAL_TYPES[spec.type]  # type: ignore[index]  # node types are equal to their numbers
            if not kind & check.types or (metadata is not None and parents[spec.node] == metadata):
                continue
            column = self.data.column_at(spec.index)
            if kind & (TEXTS | ARRAYS):
                later.append((column, kind))
            else:
                yield column, kind
        yield from later

    def of_column(self, check: Check, column: Column, kind: int, wanted: int) -> int:
        """The rows whose value of one column fulfils a check (not negated)."""
        operand, op = check.test.operand, check.test.op
        if kind == ARRAYS:
            return self._arrays(check, column, wanted)
        assert operand is not None
        if kind in (INTEGERS, TIMES):
            if operand.integer is None:
                return 0
            if not I64_MIN <= operand.integer <= I64_MAX:  # a time bound in nanoseconds
                return self.ones if compare(op, 0, operand.integer) else 0
            return int.from_bytes(clps_compare_int(self._of(column.integers), op, operand.integer), "little")
        if kind == FLOATS:
            return self._floats(column, op, operand)
        if kind == BOOLEANS:
            if operand.boolean is None or op != EQUAL:
                return 0
            truth = int.from_bytes(bytes(self._of(column.values)).translate(_TRUTH), "little")
            return truth if operand.boolean else truth ^ self.ones
        if operand.text is None or op != EQUAL:
            return 0
        if kind == STRINGS:
            table = self.plan.tables_of_ids.get(operand.text)
            if table is None:
                ids = self.plan.strings.get(operand.text, frozenset())
                table = self.plan.tables_of_ids[operand.text] = _table(ids, len(self.data.texts.variables))
            return int.from_bytes(clps_lookup(self._of(column.values), table, _LOOKUP_WIDTH), "little")
        assert kind == TEXTS
        return self._texts(column, operand.text, wanted)

    def _floats(self, column: Column, op: str, operand: Operand) -> int:
        """Return the mask of rows whose float compares with the operand."""
        if operand.real is None:
            return 0
        if column.type != NodeType.DICTIONARY_FLOAT:
            return int.from_bytes(clps_compare_float(self._of(column.values), op, operand.real), "little")
        strings = column.texts.variables
        used = [i for i in set(column.values[self.start : self.stop]) if i < len(strings)]
        mask = clps_compare_float(_floats([_real(strings[i]) for i in used]), op, operand.real)
        table = _table(frozenset(compress(used, mask)), max(used, default=-1) + 1)
        return int.from_bytes(clps_lookup(self._of(column.values), table, _LOOKUP_WIDTH), "little")

    def _texts(self, column: Column, pattern: bytes, wanted: int) -> int:
        """Return the mask of the rows whose encoded text matches a wildcard pattern, without decoding most of them."""
        query = self.plan.texts.get(pattern)
        if query is None:
            return 0
        texts = column.texts
        words, variables = self._of(column.values), column.variables.cast("B")
        fold = query.pattern.ignore_case
        found = 0
        for table, constraints, pattern_codes in self._tries(pattern, query, texts):
            rows = (wanted & ~found).to_bytes(self.rows, "little")
            mask, bad = clps_match_texts(
                words, variables, texts.raw_log_types, texts.variables, table, constraints, pattern_codes, fold, rows
            )
            if bad >= 0:
                column.strings([self.start + bad])  # raises the fault in it
            found |= int.from_bytes(mask, "little")
            if found & wanted == wanted:
                break
        return found

    def _tries(self, pattern: bytes, query: TextQuery, texts: PrintContext) -> list[Try]:
        """The searches to make in sequence, computed once for all tables."""
        tries = self.plan.tries.get(pattern)
        if tries is not None:
            return tries
        codes = query.pattern.codes
        if query.candidates is None:
            tries = [(None, [], codes)]
        else:
            base = 0 if self.plan.dialect.core_text else ClassicVariable.first_id
            tries = [
                (
                    _table(candidate.log_types, len(texts.raw_log_types)),
                    [_constraint(ids, base, len(texts.variables)) for ids in candidate.variables],
                    codes if candidate.verify else None,
                )
                for candidate in query.candidates
            ]
        self.plan.tries[pattern] = tries
        return tries

    def _arrays(self, check: Check, column: Column, wanted: int) -> int:
        """Return the mask of the rows whose array fulfills a check; each different array (JSON text) is parsed once."""
        tests = self.plan.array_tests
        tester = tests.get(check.key)
        if tester is None:  # one for all tables: a result for a string is valid in all of them
            tester = tests[check.key] = ArrayTest(check, ignore_case=self.plan.options.ignore_case)
        rows = list(compress(range(self.rows), wanted.to_bytes(self.rows, "little")))
        mask = bytearray(self.rows)
        for start in range(0, len(rows), _ARRAY_BATCH):
            part = rows[start : start + _ARRAY_BATCH]
            # Consecutive rows are searched as one string first, which most often shows that none of them matches.
            is_consecutive = tester.needle and len(part) == part[-1] - part[0] + 1
            if is_consecutive and tester.rules_out(column.joined(self.start + part[0], self.start + part[-1] + 1)):
                continue
            for row, text in zip(part, column.strings([self.start + row for row in part]), strict=True):
                mask[row] = tester.verdict(text)
        return int.from_bytes(mask, "little")


def _cost(part: Requirement) -> int:
    """The cost of a part, to evaluate cheap ones first: text and arrays are decoded only where others do not decide."""
    if isinstance(part, Check):
        return (2 if part.types & ARRAYS else 1) if part.types & (TEXTS | ARRAYS) else 0
    return 3


def _table(ids: Collection[int], size: int) -> bytes:
    """Return one byte per id below `size`: 1 for ids in the set."""
    table = bytearray(size)
    for ident in ids:
        if 0 <= ident < size:
            table[ident] = 1
    return bytes(table)


def _constraint(words: frozenset[int], base: int, size: int) -> tuple[int, bytes | None]:
    """The condition on a variable for `clps_match_texts`: one word, or `base` (that of id 0) and a table of ids."""
    if len(words) == 1:
        return next(iter(words)), None
    return base, _table([word - base for word in words], size)


def _floats(values: Sequence[float]) -> bytes:
    return array("d", values).tobytes()


def _real(text: bytes) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


LEAST: Final = 4
"""Tables with the same condition from which on their values are gathered."""


class RunEvaluator(Evaluator):
    """Evaluates conditions for the `chosen` ones of a run of small tables, on values gathered from all of them.

    Masks have a byte for each row of the run.  A table that has to be read alone gets a 2 in `chosen` (see
    `ClpsTables.gather`).  Raises the errors of values that cannot be read, without their place.
    """

    def __init__(self, searched: RunSearch, first: int, stop: int, chosen: bytearray, rows: int) -> None:
        span = searched.archive.stream_span(searched.kernel_tables.entries.stream_ids[first])
        self._source = RunSource(searched.archive, span, rows)
        super().__init__(self._source, searched.plan)  # type: ignore[arg-type]  # columns come from `_columns`
        self._searched, self._first, self._stop, self._chosen = searched, first, stop, chosen

    def _columns(self, check: Check) -> Iterator[tuple[Any, int]]:
        """Yield the values of all tables that a check compares, with their literal type; text and arrays come last."""
        searched = self._searched
        types = searched.archive.schema_tree.types
        if check.node is not None:
            wanted = bytearray(len(types))
            wanted[check.node] = 1
            yield self._gathered(types[check.node], wanted), check.types
            return
        present = set(types)
        kinds = [(node_type, kind) for node_type, kind in LITERAL_TYPES.items() if kind & check.types]
        for node_type, kind in sorted(kinds, key=lambda pair: pair[1] in (TEXTS, ARRAYS)):
            if node_type in present and node_type != NodeType.NULL_VALUE:
                yield self._gathered(node_type, searched.nodes_of(node_type)), kind

    def _gathered(self, kind: int, wanted: bytes | bytearray) -> GatheredColumn:
        return self._searched.kernel_tables.gathered(self._source, self._first, self._stop, self._chosen, kind, wanted)

    def of_column(self, check: Check, column: Any, kind: int, wanted: int) -> int:
        """The rows whose value among the gathered ones fulfils a check (not negated)."""
        gathered: GatheredColumn = column
        rows = gathered.column.rows
        inner = Evaluator(RunSource(self._source.archive, self._source.span, rows), self.plan)  # type: ignore[arg-type]
        mask = inner.of_column(check, gathered.column, kind, inner.ones).to_bytes(rows, "little")
        out = bytearray(self.rows)
        for row in compress(gathered.owners, mask):
            out[row] = 1
        return int.from_bytes(out, "little")


def are_many(archive: TableArchive, planned: Sequence[TablePlan]) -> bool:
    """Whether there are enough tables to search them together, or one that has more columns than rows."""
    if len(planned) >= LEAST:
        return True
    columns = archive.schemas.columns.num_entries
    places = [(archive.schemas.place(table.entry.schema_id), table.entry.num_messages) for table in planned]
    return any(place >= 0 and rows < columns[place] for place, rows in places)


class RunSearch:
    """Searches runs of small tables together, or one with more columns than rows; a run is `[first, stop)` by number.

    Raises the error that keeps the schema tree or the schemas from being read.
    """

    archive: TableArchive
    plan: Plan

    def __init__(self, archive: TableArchive, plan: Plan) -> None:
        """Read the tree and the schemas; tables are read when a run is searched."""
        self.archive, self.plan = archive, plan
        self.kernel_tables: KernelTables = KernelTables(archive, prints=False)
        self._printing = SharedValue(lambda: KernelTables(archive))
        self._nodes: dict[int, bytes] = {}
        self._first = archive.tables[0].index if len(archive.tables) else 0

    def split(self, planned: Sequence[TablePlan]) -> Iterator[tuple[int, int, list[TablePlan]]]:
        """Yield the tables of a plan as (first, stop, tables) of runs, or (0, 0, tables) to search one by one."""
        at = 0
        together = self.kernel_tables
        for first, stop in together.runs(min(blocks.BLOCK_BYTES, windows.WORTHWHILE), text_rows(self.archive)):
            start = at
            while at < len(planned) and planned[at].index < stop:
                at += 1
            if start == at:
                continue
            is_run = at - start >= LEAST or (stop == first + 1 and together.is_wide(first))
            yield (first, stop, list(planned[start:at])) if is_run else (0, 0, list(planned[start:at]))

    def nodes_of(self, kind: int) -> bytes:
        """A byte for each node: 1 if it has this type and is searched where a query names no column."""
        found = self._nodes.get(kind)
        if found is None:
            tree = self.archive.schema_tree
            made = bytearray(bytes(tree.types).translate(bytes(one == kind for one in range(256))))
            metadata = tree.roots.get((b"", NodeType.METADATA))
            for node in tree.children[metadata] if metadata is not None else ():
                made[node] = 0
            found = self._nodes[kind] = bytes(made)
        return found

    def mask(self, first: int, stop: int, planned: Sequence[TablePlan]) -> bytearray | None:
        """A byte for each record of a run, 1 if it matches; None if all do.  Propagates errors from reading tables."""
        rows = self.kernel_tables.rows
        before = [0, *accumulate(rows[first:stop])]
        if all(table.part is True for table in planned) and (
            sum(table.entry.num_messages for table in planned) == before[-1]
        ):
            return None
        out = bytearray(before[-1])
        parts: dict[int, list[TablePlan]] = {}
        for table in planned:
            if rows[table.index]:
                parts.setdefault(id(table.part), []).append(table)
        for same in parts.values():
            part = same[0].part
            left: Collection[int] = [table.index for table in same]
            if part is not True and (len(same) >= LEAST or stop == first + 1):
                left = self._search_run(part, first, stop, left, before, out)
            for index in left:
                at, size = before[index - first], rows[index]
                out[at : at + size] = b"\1" * size if part is True else self._search_table(part, index)
        return out

    def _search_run(
        self, part: Requirement, first: int, stop: int, indices: Collection[int], before: list[int], out: bytearray
    ) -> Collection[int]:
        """Set the bytes of the rows of these tables that match, and return the tables that have to be read alone."""
        chosen = bytearray(stop - first)
        for index in indices:
            chosen[index - first] = 1
        mask = RunEvaluator(self, first, stop, chosen, before[-1]).run(part)
        left = []
        for index in indices:
            if chosen[index - first] == 2:
                left.append(index)
            else:
                rows = slice(before[index - first], before[index - first + 1])
                out[rows] = mask[rows]
        return left

    def _search_table(self, part: Requirement, index: int) -> bytes:
        data = self.archive.tables[index - self._first].load()
        return Evaluator(data, self.plan).run(part)

    def count(self, first: int, stop: int, planned: Sequence[TablePlan]) -> int | None:
        """Count the records of a run that match; None where a table is damaged."""
        with suppress(ExhumeError):
            mask = self.mask(first, stop, planned)
            return sum(self.kernel_tables.rows[first:stop]) if mask is None else mask.count(1)
        return None

    def chunks(self, first: int, stop: int, planned: Sequence[TablePlan]) -> Printed | None:
        """Print the records of a run that match; None if a table is damaged before anything is printed."""
        try:
            mask = self.mask(first, stop, planned)
        except ExhumeError:
            return None
        if mask is not None and 1 not in mask:
            return [], None
        return printed(self._printed(first, stop, mask))

    def _printed(self, first: int, stop: int, mask: bytearray | None) -> Iterator[bytes]:
        """Yield JSON lines of the tables `[first, stop)`; tables that the kernel cannot print are printed here.

        `mask` has a byte for each row of these tables, 1 if it matches; None prints all.
        """
        rows = self.kernel_tables.rows
        for found in self._printing.get().printed(first, stop, mask):
            if isinstance(found, bytes):
                yield found
                continue
            index, row = found
            at = sum(rows[first:index])
            left = None if mask is None else bytes(mask[at + row : at + rows[index]])
            if left is None or 1 in left:
                data = self.archive.tables[index - self._first].load()
                yield from data.renderer().chunks(row, mask=left)
