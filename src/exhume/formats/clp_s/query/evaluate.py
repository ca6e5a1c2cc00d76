"""Rows that fulfill a plan, as masks over the rows of a table; cheap checks come first.

A plan (see `plan`) has, for each table, a requirement: checks of its columns joined by AND and OR (see `requirement`).
For many small tables, `matches.RunSearch` compares the values of all of them at once.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from exhume.formats.clp_s.query.texts import TextQuery
    from exhume.formats.clp_s.read.columns import Column, PrintContext
    from exhume.formats.clp_s.read.tables import TableData

_TRUTH = bytes([0]) + b"\1" * 255  # translates booleans as they are stored to 0 and 1
_LOOKUP_WIDTH = 64  # bits of each stored word that are the id, for `clps_lookup`: all
_ARRAY_BATCH = 8192  # rows whose arrays are decoded at a time


class Evaluator:
    """Evaluates conditions on the rows `[start, stop)` of one table.

    A mask has a byte for each row, 0 or 1, and is kept as one little-endian integer: plain Python combines masks with
    a single operation.  The mask of all rows is `ones`.  `wanted` is the mask of the rows for which a result has to be
    right: AND and OR need no others.  `_masks` keeps the mask of each check, by its key, if it is right for all rows.
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
        """Return the mask of the rows that fulfill `part`, as bytes."""
        return self._part(part, self.ones).to_bytes(self.rows, "little")

    def _of(self, values: memoryview[Any]) -> memoryview[Any]:
        """Return the values of the rows `[start, stop)` as bytes, for the kernel."""
        return values[self.start : self.stop].cast("B")

    def _part(self, part: Requirement, wanted: int) -> int:
        """Return the mask of the rows that fulfill `part`; only the bytes of rows in `wanted` have to be right."""
        if isinstance(part, bool):
            return self.ones if part else 0
        if isinstance(part, Check):
            return self._check(part, wanted)
        if isinstance(part, EveryPart):
            for inner in sorted(part.parts, key=_cost):  # AND: later parts need only the rows left
                wanted &= self._part(inner, wanted)
                if not wanted:
                    break
            return wanted
        found = 0
        for inner in sorted(part.parts, key=_cost):  # OR: later parts need only the rows not found yet
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
            # Text and arrays are decoded for the wanted rows only: the mask is then wrong for others.  Columns of other
            # types are compared in all rows.
            partial = bool(check.types & (TEXTS | ARRAYS)) and wanted != self.ones
            found = 0
            rows = wanted
            for column, kind in self._columns(check):
                found |= self.of_column(check, column, kind, rows)
                if found & wanted == wanted:
                    partial = partial or wanted != self.ones  # for others, further columns were not compared
                    break
                rows &= ~found
            if check.test.inverted:
                found ^= self.ones
            if not partial:
                self._masks[key] = found
        return found

    def _columns(self, check: Check) -> Iterator[tuple[Column, int]]:
        """Yield the columns that a check examines with their literal types, the cheap ones first.

        Without a node, these are all columns of the right types but the internal ones (metadata).
        """
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
            column = self.data.column_at(spec.place)
            if kind & (TEXTS | ARRAYS):
                later.append((column, kind))
            else:
                yield column, kind
        yield from later

    def of_column(self, check: Check, column: Column, kind: int, wanted: int) -> int:
        """Return the mask of the rows whose value of one column fulfills a check, before its negation.

        `kind` is the literal type of the column.  Only rows in `wanted` have to be right.
        """
        operand, op = check.test.operand, check.test.op
        if kind == ARRAYS:
            return self._arrays(check, column, wanted)
        assert operand is not None
        if kind in (INTEGERS, TIMES):
            if operand.integer is None:
                return 0
            if not I64_MIN <= operand.integer <= I64_MAX:  # of a time bound, or 1e19: any int64 compares as 0
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
            table = self.plan.tables_of_ids.get(operand.text)  # by id of the dictionary: 1 for entries that match
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
        # Values are ids of the exact text: compare each different one once.
        used = [ident for ident in set(column.values[self.start : self.stop]) if ident < len(strings)]
        mask = clps_compare_float(_floats([_real(strings[ident]) for ident in used]), op, operand.real)
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
            rows = (wanted & ~found).to_bytes(self.rows, "little")  # not matched by an earlier try
            mask, bad = clps_match_texts(
                words, variables, texts.raw_log_types, texts.variables, table, constraints, pattern_codes, fold, rows
            )  # `bad`: the first row that cannot be decoded, or -1
            if bad >= 0:
                column.strings([self.start + bad])  # raises the fault in it
            found |= int.from_bytes(mask, "little")
            if found & wanted == wanted:
                break
        return found

    def _tries(self, pattern: bytes, query: TextQuery, texts: PrintContext) -> list[Try]:
        """Return the searches to make in sequence for a pattern, see `Try`; computed once for all tables.

        Without candidates, the only one is to match the decoded text of each row.
        """
        tries = self.plan.tries.get(pattern)
        if tries is not None:
            return tries
        codes = query.pattern.codes
        if query.candidates is None:
            tries = [(None, [], codes)]
        else:
            base = 0 if self.plan.dialect.core_text else ClassicVariable.first_id  # the word of dictionary id 0
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
        rows = list(compress(range(self.rows), wanted.to_bytes(self.rows, "little")))  # numbers of the wanted rows
        mask = bytearray(self.rows)
        for start in range(0, len(rows), _ARRAY_BATCH):
            part = rows[start : start + _ARRAY_BATCH]
            # Consecutive rows are searched as one string first, which most often shows that none of them matches:
            # `needle` are bytes that each array with a match contains (b"" if unknown).
            is_consecutive = tester.needle and len(part) == part[-1] - part[0] + 1
            if is_consecutive and tester.rules_out(column.joined(self.start + part[0], self.start + part[-1] + 1)):
                continue
            for row, text in zip(part, column.strings([self.start + row for row in part]), strict=True):
                mask[row] = tester.verdict(text)
        return int.from_bytes(mask, "little")


def _cost(part: Requirement) -> int:
    """The cost of a part, to evaluate cheap ones first: text and arrays are decoded only where others do not decide."""
    if not isinstance(part, Check):
        return 3
    if part.types & ARRAYS:
        return 2
    return 1 if part.types & TEXTS else 0


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
    """Return numbers as float64 bytes, for the kernel."""
    return array("d", values).tobytes()


def _real(text: bytes) -> float:
    """Return the float that the string states; NaN, which matches nothing, if it is not a number."""
    try:
        return float(text)
    except ValueError:
        return float("nan")
